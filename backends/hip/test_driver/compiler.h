// What the compiler makes: an object with a line in front that says for which architecture.
#pragma once

#include <string>

#include "driver.h"

bool write_file(const std::string& path, const std::string& bytes);
// The object in what hipModuleLoadData is given.
Error unpack(const void* image, std::string& object);
