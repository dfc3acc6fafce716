/* compute.hpp: libcompute for C++17. Header-only, over the calls of compute.h; adds no symbol and no state.
 *
 * - Handles are move-only objects that release what they hold. Moved-from and default-made ones hold nothing, but for a default-made `device`: that is the first there is.
 * - A negative status throws `compute::error`, whose what() is the formatted error: what was asked, why it failed, down to the root.
 * - Positive statuses are answers: `outcome` for work that may be skipped, bool for time-outs and polls.
 * - Every object may be used from any thread, as in C.
 *
 * In short, where `source` is a kernel, `numbers` a vector, `bytes` its size and `groups` a number of workgroups:
 *
 *     compute::device device;                                   // the first there is
 *     compute::stream stream(device);
 *     compute::kernel kernel(device, source);
 *     compute::buffer in(device, bytes), out(device, bytes);
 *     stream.write(in, numbers);
 *     compute::launch(kernel).grid(groups).bind(0, in).bind(1, out).on(stream);
 *     stream.read(out, numbers);
 */
#ifndef LIBCOMPUTE_COMPUTE_HPP
#define LIBCOMPUTE_COMPUTE_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <libcompute/compute.h>

namespace compute {

/// The whole of a buffer, from an offset on.
inline constexpr std::uint64_t whole = COMPUTE_WHOLE;
/// For ever, as a time-out.
inline constexpr std::uint64_t forever = COMPUTE_FOREVER;

/// What came of work that was asked for: positive statuses are no errors.
enum class outcome {
    enqueued,
    /// It reads bytes that a failure claims, so it did not run; its outputs carry the same failure.
    skipped,
};

/// A failed call. Copies share the error object.
class error : public std::exception {
public:
    /// Takes the error object over; it may be null.
    error(compute_status status, compute_error object) : status_(status), object_(object, compute_error_release) {
        text_ = object ? format(COMPUTE_FORMAT_TEXT) : std::string();
        if (text_.empty()) text_ = compute_status_name(status);
    }
    const char *what() const noexcept override { return text_.c_str(); }
    compute_status status() const noexcept { return status_; }
    /// For the calls of compute.h; null when there is no object.
    compute_error get() const noexcept { return object_.get(); }

    compute_error_info info() const {
        compute_error_info info = COMPUTE_ERROR_INFO_INIT;
        info.status = status_;
        if (object_) compute_error_get_info(object_.get(), &info);
        return info;
    }
    /// This kernel or configuration can never run here.
    bool is_refusal() const { return info().refusal != 0; }
    /// Drop the device.
    bool is_poisoned() const { return info().poisoned != 0; }
    /// Could succeed after memory is reclaimed.
    bool is_reclaimable() const { return info().reclaimable != 0; }
    /// Reached through at least one skip.
    bool is_skip() const { return info().skip != 0; }

    /// `COMPUTE_FORMAT_TEXT` or `COMPUTE_FORMAT_JSON`.
    std::string format(std::uint32_t form) const {
        std::size_t needed = 0;
        if (!object_ || compute_error_format(object_.get(), form, nullptr, 0, &needed) != COMPUTE_OK || needed == 0) return {};
        std::string text(needed, '\0');
        if (compute_error_format(object_.get(), form, text.data(), text.size(), &needed) < 0) return {};
        text.resize(needed - 1);
        return text;
    }

private:
    compute_status status_;
    std::shared_ptr<compute_error_s> object_;
    std::string text_;
};

namespace detail {

/// Throws for a negative status, gives the others back.
inline compute_status check(compute_status status, compute_error object) {
    if (status < 0) throw error(status, object);
    return status;
}

/// Makes a call with an error object: `call` gets the place for it.
template <typename Call>
compute_status run(Call &&call) {
    compute_error object = nullptr;
    const compute_status status = call(&object);
    return check(status, object);
}

/// Owns one reference to a handle.
template <typename Handle, void (*Release)(Handle), compute_status (*Destroy)(Handle, compute_error *)>
class owned {
public:
    owned() noexcept = default;
    explicit owned(Handle handle) noexcept : handle_(handle) {}
    owned(owned &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    owned &operator=(owned &&other) noexcept {
        if (this != &other) {
            reset();
            handle_ = std::exchange(other.handle_, nullptr);
        }
        return *this;
    }
    owned(const owned &) = delete;
    owned &operator=(const owned &) = delete;
    ~owned() { reset(); }

    /// For the calls of compute.h.
    Handle get() const noexcept { return handle_; }
    explicit operator bool() const noexcept { return handle_ != nullptr; }
    /// Gives the reference up to the caller.
    Handle release() noexcept { return std::exchange(handle_, nullptr); }
    /// Gives the reference back to the library.
    void reset() noexcept {
        if (handle_ != nullptr) Release(std::exchange(handle_, nullptr));
    }
    /// Ends the handle at once, for all who have it.
    void destroy() {
        const Handle handle = release();
        run([&](compute_error *failed) { return Destroy(handle, failed); });
    }

protected:
    Handle handle_ = nullptr;
};

template <typename T>
using element = std::remove_pointer_t<decltype(std::declval<T &>().data())>;

} // namespace detail

/// A tensor to be placed in a buffer, slowest dimension first.
struct tensor {
    std::vector<std::uint64_t> shape;
    std::uint64_t element_size;
    /// `COMPUTE_ARRANGEMENT_...`
    std::uint32_t arrangement = COMPUTE_ARRANGEMENT_CONTIGUOUS;

    /// Points into this.
    compute_tensor_desc desc() const noexcept {
        compute_tensor_desc desc = COMPUTE_TENSOR_DESC_INIT;
        desc.rank = static_cast<std::uint32_t>(shape.size());
        desc.shape = shape.data();
        desc.element_size = element_size;
        desc.arrangement = arrangement;
        return desc;
    }
};

/// The elements of a strided transfer, slowest dimension first. Strides in bytes, one per dimension; none: without gaps.
struct strided {
    std::vector<std::uint64_t> shape;
    std::uint64_t element_size;
    std::vector<std::int64_t> from = {}, to = {};

    /// Points into this. Throws when the numbers of dimensions and strides differ.
    compute_strided_desc desc() const {
        for (const auto *strides : { &from, &to }) {
            if (!strides->empty() && strides->size() != shape.size()) throw error(COMPUTE_ERROR_INVALID_ARGUMENT, nullptr);
        }
        compute_strided_desc desc = COMPUTE_STRIDED_DESC_INIT;
        desc.rank = static_cast<std::uint32_t>(shape.size());
        desc.shape = shape.data();
        desc.element_size = element_size;
        desc.from_strides = from.empty() ? nullptr : from.data();
        desc.to_strides = to.empty() ? nullptr : to.data();
        return desc;
    }
};

/// A device.
class device : public detail::owned<compute_device, compute_device_release, compute_device_destroy> {
public:
    /// The first device of a backend; of all, when that is empty.
    explicit device(std::string_view backend = {}, std::uint32_t index = 0) {
        compute_device_desc desc = COMPUTE_DEVICE_DESC_INIT;
        desc.backend = backend.empty() ? nullptr : backend.data();
        desc.backend_length = backend.size();
        desc.index = index;
        open(desc);
    }
    explicit device(const compute_device_desc &desc) { open(desc); }
    /// With compiled kernels kept in a folder, which must be this user's own: see `compute_cache_desc`.
    device(compute_device_desc desc, std::string_view cache_folder, std::uint64_t max_bytes = 0) {
        compute_cache_desc cache = COMPUTE_CACHE_DESC_INIT;
        cache.next = desc.next;
        cache.folder = cache_folder.data();
        cache.folder_length = cache_folder.size();
        cache.max_bytes = max_bytes;
        desc.next = &cache;
        open(desc);
    }
    /// Takes a reference over.
    explicit device(compute_device handle) noexcept : owned(handle) {}

    compute_device_info info() const {
        compute_device_info info = COMPUTE_DEVICE_INFO_INIT;
        detail::run([&](compute_error *failed) { return compute_device_get_info(handle_, &info, failed); });
        return info;
    }
    /// Throws when the device is beyond use.
    void check() const {
        detail::run([&](compute_error *failed) { return compute_device_status(handle_, failed); });
    }
    compute_memory_usage memory_usage() const {
        compute_memory_usage usage = COMPUTE_MEMORY_USAGE_INIT;
        detail::run([&](compute_error *failed) { return compute_device_memory_usage(handle_, &usage, failed); });
        return usage;
    }
    /// What the cache of compiled kernels on disk has done.
    compute_cache_info cache_info() const {
        compute_cache_info info = COMPUTE_CACHE_INFO_INIT;
        detail::run([&](compute_error *failed) { return compute_device_cache_info(handle_, &info, failed); });
        return info;
    }
    /// Gives every page back to the driver that holds nothing, over all streams.
    void cleanup() const {
        detail::run([&](compute_error *failed) { return compute_device_cleanup(handle_, failed); });
    }
    /// Where tensors lie in one buffer, and how many bytes it takes. An alignment of 0: what views of any kind need.
    std::pair<std::vector<compute_tensor_place>, std::uint64_t> layout(const std::vector<tensor> &tensors, std::uint64_t alignment = 0) const {
        std::pair<std::vector<compute_tensor_place>, std::uint64_t> layout(
            std::vector<compute_tensor_place>(tensors.size(), compute_tensor_place COMPUTE_TENSOR_PLACE_INIT), 0);
        std::vector<compute_tensor_desc> descs;
        for (const tensor &one : tensors) descs.push_back(one.desc());
        detail::run([&](compute_error *failed) {
            return compute_device_layout_tensors(handle_, descs.data(), descs.size(), 0, alignment, layout.first.data(), 0, &layout.second, failed);
        });
        return layout;
    }
    void compile_queued() const {
        detail::run([&](compute_error *failed) { return compute_device_compile_queued(handle_, failed); });
    }
    /// A grid of at least `count` workgroups within the limits, and how many of them are idle.
    std::pair<std::array<std::uint32_t, 3>, std::uint64_t> spread_workgroups(std::uint64_t count, bool exact = false) const {
        std::pair<std::array<std::uint32_t, 3>, std::uint64_t> spread{};
        detail::run([&](compute_error *failed) {
            return compute_device_spread_workgroups(handle_, count, exact, spread.first.data(), &spread.second, failed);
        });
        return spread;
    }
    /// A good workgroup size for so many work items.
    std::uint32_t workgroup_size(std::uint64_t items) const {
        std::uint32_t size = 0;
        detail::run([&](compute_error *failed) { return compute_device_get_workgroup_size(handle_, items, &size, failed); });
        return size;
    }
    /// Vector widths worth using, in elements, widest first.
    std::vector<std::uint32_t> vector_widths(std::uint32_t element_size) const {
        std::vector<std::uint32_t> widths(32);
        std::size_t count = 0;
        detail::run([&](compute_error *failed) {
            return compute_device_get_vector_widths(handle_, element_size, widths.data(), widths.size(), &count, failed);
        });
        widths.resize(count);
        return widths;
    }

private:
    void open(const compute_device_desc &desc) {
        detail::run([&](compute_error *failed) { return compute_device_open(&desc, &handle_, failed); });
    }
};

/// Holds a device for this thread alone, to measure on it.
class exclusive {
public:
    explicit exclusive(const device &held) : device_(held.get()) {
        detail::run([&](compute_error *failed) { return compute_device_lock(device_, failed); });
    }
    exclusive(const exclusive &) = delete;
    exclusive &operator=(const exclusive &) = delete;
    ~exclusive() { compute_device_unlock(device_, nullptr); }

private:
    compute_device device_;
};

/// A ceiling on memory that streams share.
class budget : public detail::owned<compute_budget, compute_budget_release, compute_budget_destroy> {
public:
    explicit budget(std::uint64_t limit) {
        detail::run([&](compute_error *failed) { return compute_budget_create(limit, &handle_, failed); });
    }
    /// Takes a reference over.
    explicit budget(compute_budget handle) noexcept : owned(handle) {}

    compute_budget_info info() const {
        compute_budget_info info = COMPUTE_BUDGET_INFO_INIT;
        detail::run([&](compute_error *failed) { return compute_budget_get_info(handle_, &info, failed); });
        return info;
    }
};

class buffer;
class stream;

/// A byte range of a buffer, which must outlive it.
class view {
public:
    view(const buffer &of, std::uint64_t offset = 0, std::uint64_t size = whole) noexcept;
    const compute_view &get() const noexcept { return view_; }

private:
    compute_view view_;
};

/// Memory of the caller's, for `buffer`. `kind` is `COMPUTE_NATIVE_...`, `handle` the driver's name of the memory, `access` `COMPUTE_ACCESS_READ` or `_READ_WRITE`. `released` is called
/// once when the memory is no longer used, from a thread of the library; it must not throw.
inline compute_import_desc import_desc(std::uint32_t kind, std::uint64_t handle, std::uint64_t size, std::uint32_t access = COMPUTE_ACCESS_READ_WRITE,
                                       compute_released_callback released = nullptr, void *user = nullptr) noexcept {
    compute_import_desc desc = COMPUTE_IMPORT_DESC_INIT;
    desc.kind = kind;
    desc.handle = handle;
    desc.size = size;
    desc.access = access;
    desc.released = released;
    desc.user = user;
    return desc;
}

/// An allocation on a device.
class buffer : public detail::owned<compute_buffer, compute_buffer_release, compute_buffer_destroy> {
public:
    buffer() noexcept = default;
    buffer(const device &on, std::uint64_t size, std::string_view label = {}, std::uint64_t flags = 0) { make(on, nullptr, size, label, flags); }
    /// From the pools of a stream.
    buffer(const device &on, const stream &of, std::uint64_t size, std::string_view label = {}, std::uint64_t flags = 0);
    /// Memory of the caller's, in place; whoever calls this vouches for what `desc` says. `compute::import_desc` makes one.
    buffer(const device &on, const compute_import_desc &desc) {
        detail::run([&](compute_error *failed) { return compute_buffer_import(on.get(), &desc, &handle_, failed); });
    }
    /// Takes a reference over.
    explicit buffer(compute_buffer handle) noexcept : owned(handle) {}

    std::uint64_t size() const {
        std::uint64_t size = 0;
        detail::run([&](compute_error *failed) { return compute_buffer_get_size(handle_, &size, failed); });
        return size;
    }
    std::uint64_t id() const {
        std::uint64_t id = 0;
        detail::run([&](compute_error *failed) { return compute_buffer_get_id(handle_, &id, failed); });
        return id;
    }
    view range(std::uint64_t offset, std::uint64_t size = whole) const noexcept { return view(*this, offset, size); }
    /// A tensor's part, of a layout.
    view at(const compute_tensor_place &place) const noexcept { return view(*this, place.offset, place.size); }

private:
    void make(const device &on, compute_stream of, std::uint64_t size, std::string_view label, std::uint64_t flags) {
        compute_buffer_desc desc = COMPUTE_BUFFER_DESC_INIT;
        desc.size = size;
        desc.flags = flags;
        desc.label = label.data();
        desc.label_length = label.size();
        desc.stream = of;
        detail::run([&](compute_error *failed) { return compute_buffer_create(on.get(), &desc, &handle_, failed); });
    }
};

inline view::view(const buffer &of, std::uint64_t offset, std::uint64_t size) noexcept : view_{ of.get(), offset, size } {}

/// Throws when a failure claims some of these bytes, as far as is known now.
inline void check(const view &of) {
    detail::run([&](compute_error *failed) { return compute_check(&of.get(), 1, 0, failed); });
}

/// Lifts the claim of a failure that reached no device. Gives the number of bytes.
inline std::uint64_t reinstate(const view &of, std::uint64_t failure) {
    std::uint64_t lifted = 0;
    detail::run([&](compute_error *failed) { return compute_reinstate(&of.get(), failure, &lifted, failed); });
    return lifted;
}

/// Says that others have written all of a view, through what `stream::exported` told.
inline void written(const view &of) {
    detail::run([&](compute_error *failed) { return compute_written(&of.get(), failed); });
}

/// Native sources of a kernel and what is declared of them, in order; keeps copies. Whoever gives them vouches that the code does what is declared.
class native_sources {
public:
    explicit native_sources(std::uint32_t x, std::uint32_t y = 1, std::uint32_t z = 1) : size_{x, y, z} {}

    /// `language`: COMPUTE_LANGUAGE_CUDA and following. `entry` is the name in the code, `target` the architecture that it is for, empty for any.
    native_sources &source(std::uint32_t language, std::string_view code, std::string_view entry, std::vector<std::string> options = {},
                           std::string_view target = {}) {
        forms_.push_back({language, std::string(code), std::string(entry), std::string(target), std::move(options), {}});
        return *this;
    }
    /// A file that the source given last may include.
    native_sources &header(std::string_view name, std::string_view text) {
        forms_.at(forms_.size() - 1).headers.emplace_back(name, text);
        return *this;
    }
    /// `access`: COMPUTE_ACCESS_...
    native_sources &buffer(std::uint32_t access, std::string_view name = {}, std::uint64_t least = 0, std::uint32_t alias = 0) {
        return add(COMPUTE_PARAMETER_BUFFER, access, name, least, 0, alias);
    }
    /// A tensor map, and what is done with the view behind it.
    native_sources &tensor_map(std::uint32_t access, std::string_view name = {}, std::uint64_t least = 0, std::uint32_t alias = 0) {
        return add(COMPUTE_PARAMETER_TENSOR_MAP, access, name, least, 0, alias);
    }
    /// `kind`: COMPUTE_PARAMETER_I8 to _F64.
    native_sources &value(std::uint32_t kind, std::string_view name = {}) { return add(kind, 0, name, 0, 0, 0); }
    /// A structure.
    native_sources &bytes(std::uint64_t size, std::uint32_t alignment, std::string_view name = {}) {
        return add(COMPUTE_PARAMETER_BYTES, 0, name, size, alignment, 0);
    }
    /// Bytes of workgroup memory that launches ask for.
    native_sources &workgroup_memory(std::uint32_t size) {
        memory_ = size;
        return *this;
    }

    /// Calls `use` with the struct for the chain of a `compute_kernel_desc`, which lives for that call.
    template <class Use>
    void with(Use use) const {
        std::vector<compute_native_source> sources;
        std::vector<compute_native_parameter> parameters;
        std::vector<std::vector<const char *>> options(forms_.size());
        std::vector<std::vector<compute_native_header>> headers(forms_.size());
        for (std::size_t n = 0; n < forms_.size(); n++) {
            const form &from = forms_[n];
            for (const std::string &option : from.options) options[n].push_back(option.c_str());
            for (const auto &file : from.headers)
                headers[n].push_back({file.first.data(), file.first.size(), file.second.data(), file.second.size()});
            sources.push_back({from.language, 0, from.code.data(), from.code.size(), from.entry.data(), from.entry.size(), from.target.empty() ? nullptr : from.target.data(),
                               from.target.size(), options[n].data(), options[n].size(), headers[n].data(), headers[n].size(), 0});
        }
        for (const parameter &from : parameters_) {
            parameters.push_back(from.desc);
            parameters.back().name = from.name.data();
            parameters.back().name_length = from.name.size();
        }
        compute_native_desc desc = COMPUTE_NATIVE_DESC_INIT;
        desc.sources = sources.data();
        desc.source_count = sources.size();
        desc.parameters = parameters.data();
        desc.parameter_count = parameters.size();
        for (int axis = 0; axis < 3; axis++) desc.workgroup_size[axis] = size_[axis];
        desc.workgroup_memory = memory_;
        use(desc);
    }

private:
    struct form {
        std::uint32_t language;
        std::string code, entry, target;
        std::vector<std::string> options;
        std::vector<std::pair<std::string, std::string>> headers;
    };
    struct parameter {
        std::string name;
        compute_native_parameter desc;
    };

    native_sources &add(std::uint32_t kind, std::uint32_t access, std::string_view name, std::uint64_t size, std::uint32_t alignment,
                        std::uint32_t alias) {
        parameters_.push_back({std::string(name), {nullptr, 0, kind, access, size, alignment, alias}});
        return *this;
    }

    std::uint32_t size_[3];
    std::uint32_t memory_ = 0;
    std::vector<form> forms_;
    std::vector<parameter> parameters_;
};

/// One entry point, made for a device.
class kernel : public detail::owned<compute_kernel, compute_kernel_release, compute_kernel_destroy> {
public:
    kernel() noexcept = default;
    /// From WGSL, GLSL or SPIR-V, which is found from what it is. `entry` may be empty when there is just one.
    /// `flags`: `COMPUTE_KERNEL_FLAG_...`.
    kernel(const device &on, std::string_view source, std::string_view entry = {}, std::string_view label = {}, std::uint64_t flags = 0) {
        compute_kernel_desc desc = COMPUTE_KERNEL_DESC_INIT;
        desc.flags = flags;
        desc.language = COMPUTE_LANGUAGE_AUTO;
        desc.source = source.data();
        desc.source_length = source.size();
        desc.entry = entry.empty() ? nullptr : entry.data();
        desc.entry_length = entry.size();
        desc.label = label.data();
        desc.label_length = label.size();
        make(on, desc);
    }
    kernel(const device &on, const compute_kernel_desc &desc) { make(on, desc); }
    /// With native sources; the portable `source` may be empty.
    kernel(const device &on, const native_sources &native, std::string_view source = {}, std::string_view label = {}) {
        native.with([&](const compute_native_desc &chained) {
            compute_kernel_desc desc = COMPUTE_KERNEL_DESC_INIT;
            desc.source = source.empty() ? nullptr : source.data();
            desc.source_length = source.size();
            desc.label = label.data();
            desc.label_length = label.size();
            desc.next = &chained;
            make(on, desc);
        });
    }
    /// Takes a reference over.
    explicit kernel(compute_kernel handle) noexcept : owned(handle) {}

    compute_kernel_info info() const {
        compute_kernel_info info = COMPUTE_KERNEL_INFO_INIT;
        detail::run([&](compute_error *failed) { return compute_kernel_get_info(handle_, &info, failed); });
        return info;
    }
    /// Whether it is compiled.
    bool poll() const {
        return detail::run([&](compute_error *failed) { return compute_kernel_poll(handle_, failed); }) == COMPUTE_OK;
    }
    /// Waits until it is compiled, or the time is over: then false.
    bool wait(std::uint64_t timeout_ns = COMPUTE_FOREVER) const {
        return detail::run([&](compute_error *failed) { return compute_kernel_wait(handle_, timeout_ns, failed); }) == COMPUTE_OK;
    }
    compute_binding_info binding(std::uint32_t index) const {
        compute_binding_info info = COMPUTE_BINDING_INFO_INIT;
        detail::run([&](compute_error *failed) { return compute_kernel_get_binding(handle_, index, &info, failed); });
        return info;
    }
    compute_binding_info binding(std::string_view name) const {
        std::uint32_t index = 0;
        detail::run([&](compute_error *failed) { return compute_kernel_find_binding(handle_, name.data(), name.size(), &index, failed); });
        return binding(index);
    }

private:
    void make(const device &on, const compute_kernel_desc &desc) {
        detail::run([&](compute_error *failed) { return compute_kernel_create(on.get(), &desc, &handle_, failed); });
    }
};

/// A moment in a stream's work, or the end of a transfer that borrows memory.
class event : public detail::owned<compute_event, compute_event_release, compute_event_destroy> {
public:
    event() noexcept = default;
    /// Takes a reference over.
    explicit event(compute_event handle) noexcept : owned(handle) {}

    /// Whether it is over.
    bool poll() const {
        return detail::run([&](compute_error *failed) { return compute_event_poll(handle_, failed); }) == COMPUTE_OK;
    }
    /// Waits; false when the time ran out first.
    bool wait(std::uint64_t timeout_ns = forever) const {
        return detail::run([&](compute_error *failed) { return compute_event_wait(handle_, timeout_ns, failed); }) == COMPUTE_OK;
    }
    /// A file descriptor that becomes readable when it is over; the caller closes it.
    std::int32_t fd() const {
        std::int32_t fd = -1;
        detail::run([&](compute_error *failed) { return compute_event_get_fd(handle_, &fd, failed); });
        return fd;
    }
};

/// Bytes that are copied to the host when they are asked for.
class readback : public detail::owned<compute_readback, compute_readback_release, compute_readback_destroy> {
public:
    readback() noexcept = default;
    /// Takes a reference over.
    explicit readback(compute_readback handle) noexcept : owned(handle) {}

    /// Starts the copy; the event tells how it ends.
    event start() const {
        compute_event made = nullptr;
        detail::run([&](compute_error *failed) { return compute_readback_start(handle_, &made, failed); });
        return event(made);
    }
    /// The elements, readable as long as this holds them, and their number; waits for the copy.
    template <typename T>
    std::pair<const T *, std::size_t> get() const {
        static_assert(std::is_trivially_copyable_v<T>, "plain values only");
        const void *bytes = nullptr;
        std::uint64_t size = 0;
        detail::run([&](compute_error *failed) { return compute_readback_get(handle_, &bytes, &size, failed); });
        return { static_cast<const T *>(bytes), static_cast<std::size_t>(size / sizeof(T)) };
    }
};

/// A host-visible buffer (`COMPUTE_BUFFER_FLAG_HOST_VISIBLE`) in the host's memory.
class mapping : public detail::owned<compute_mapping, compute_mapping_release, compute_mapping_destroy> {
public:
    mapping() noexcept = default;
    explicit mapping(const view &of) {
        detail::run([&](compute_error *failed) { return compute_buffer_map(&of.get(), &handle_, failed); });
    }
    /// Takes a reference over.
    explicit mapping(compute_mapping handle) noexcept : owned(handle) {}

    /// The elements, valid as long as this holds them, and their number.
    template <typename T>
    std::pair<T *, std::size_t> get() const {
        static_assert(std::is_trivially_copyable_v<T>, "plain values only");
        void *pointer = nullptr;
        std::uint64_t size = 0;
        detail::run([&](compute_error *failed) { return compute_mapping_get_pointer(handle_, &pointer, &size, failed); });
        return { static_cast<T *>(pointer), static_cast<std::size_t>(size / sizeof(T)) };
    }
    /// Waits until the host may access bytes as `COMPUTE_ACCESS_...` says; false when the time ran out first.
    bool acquire(std::uint32_t access, std::uint64_t offset = 0, std::uint64_t size = whole, std::uint64_t timeout_ns = forever) const {
        return detail::run([&](compute_error *failed) { return compute_mapping_acquire(handle_, offset, size, access, timeout_ns, failed); }) ==
               COMPUTE_OK;
    }
    /// The host has written all of these bytes.
    void flush(std::uint64_t offset = 0, std::uint64_t size = whole) const {
        detail::run([&](compute_error *failed) { return compute_mapping_flush(handle_, offset, size, failed); });
    }
};

/// An ordered lane of work.
class launch;

/// A graph that is ready to be replayed with `stream::replay`.
class graph : public detail::owned<compute_graph, compute_graph_release, compute_graph_destroy> {
public:
    graph() noexcept = default;
    /// Takes a reference over.
    explicit graph(compute_graph handle) noexcept : owned(handle) {}

    compute_graph_info info() const {
        compute_graph_info info = COMPUTE_GRAPH_INFO_INIT;
        detail::run([&](compute_error *failed) { return compute_graph_get_info(handle_, &info, failed); });
        return info;
    }
    /// Gives a launch other views, bytes or another grid, for replays from now on.
    void update(compute_node node, launch &with) const;
    /// `COMPUTE_GRAPH_DOT` or `COMPUTE_GRAPH_JSON`.
    std::string text(std::uint32_t format) const {
        std::size_t needed = 0;
        detail::run([&](compute_error *failed) { return compute_graph_export(handle_, format, nullptr, 0, &needed, failed); });
        std::string made(needed, '\0');
        detail::run([&](compute_error *failed) { return compute_graph_export(handle_, format, made.data(), made.size(), &needed, failed); });
        made.resize(needed - 1);
        return made;
    }
    /// Nanoseconds of each node in the last replay that is over; empty when none is. For graphs made with `COMPUTE_GRAPH_FLAG_TIMED`.
    std::vector<std::uint64_t> times() const {
        std::size_t count = 0;
        std::vector<std::uint64_t> all(static_cast<std::size_t>(info().node_count));
        const compute_status status =
            detail::run([&](compute_error *failed) { return compute_graph_get_times(handle_, all.data(), all.size(), &count, failed); });
        return status == COMPUTE_NOT_READY ? std::vector<std::uint64_t>{} : all;
    }
};

class stream : public detail::owned<compute_stream, compute_stream_release, compute_stream_destroy> {
public:
    stream() noexcept = default;
    explicit stream(const device &on, std::string_view label = {}) {
        compute_stream_desc desc = COMPUTE_STREAM_DESC_INIT;
        desc.label = label.data();
        desc.label_length = label.size();
        detail::run([&](compute_error *failed) { return compute_stream_create(on.get(), &desc, &handle_, failed); });
    }
    /// Takes a reference over.
    explicit stream(compute_stream handle) noexcept : owned(handle) {}

    /// Where a view is for the driver; `access` is `COMPUTE_ACCESS_READ`, `_WRITE` or `_READ_WRITE`. Waits for the work that uses the buffer.
    compute_native_info exported(const view &of, std::uint32_t access) {
        compute_native_info info = COMPUTE_NATIVE_INFO_INIT;
        detail::run([&](compute_error *failed) { return compute_stream_export(handle_, &of.get(), access, &info, failed); });
        return info;
    }

    /// Makes later work wait for an event of the driver's own (`kind`: `COMPUTE_NATIVE_CUDA_EVENT`, `_HIP_EVENT`), as the caller has recorded it.
    void wait_native(std::uint32_t kind, std::uint64_t event) const {
        detail::run([&](compute_error *failed) { return compute_stream_wait_native(handle_, kind, event, failed); });
    }
    /// Records an event of the driver's own behind all work so far.
    void record_native(std::uint32_t kind, std::uint64_t event) const {
        detail::run([&](compute_error *failed) { return compute_stream_record_native(handle_, kind, event, failed); });
    }

    /// Copies host bytes into a view of the same size.
    void write(const view &to, const void *bytes, std::uint64_t size) const {
        detail::run([&](compute_error *failed) { return compute_stream_write(handle_, &to.get(), bytes, size, failed); });
    }
    /// The same for a vector, array, string or span of plain values.
    template <typename Values, typename = detail::element<const Values>>
    void write(const view &to, const Values &values) const {
        static_assert(std::is_trivially_copyable_v<std::remove_const_t<detail::element<const Values>>>, "plain values only");
        write(to, values.data(), values.size() * sizeof *values.data());
    }
    /// Reads a view into host memory of the same size, and waits for it.
    void read(const view &from, void *bytes, std::uint64_t size) const {
        detail::run([&](compute_error *failed) { return compute_stream_read(handle_, &from.get(), bytes, size, failed); });
    }
    template <typename Values, typename = detail::element<Values>>
    void read(const view &from, Values &values) const {
        static_assert(std::is_trivially_copyable_v<detail::element<Values>>, "plain values only");
        read(from, values.data(), values.size() * sizeof *values.data());
    }
    /// A new vector of what is in a buffer.
    template <typename T>
    std::vector<T> read(const buffer &from) const {
        std::vector<T> values(static_cast<std::size_t>(from.size() / sizeof(T)));
        read(view(from, 0, values.size() * sizeof(T)), values.data(), values.size() * sizeof(T));
        return values;
    }
    /// Copies elements between host memory and a view, with strides at both ends (`from` is the source's). `size` bytes of host memory are at least what they span.
    void write(const view &to, const strided &elements, const void *bytes, std::uint64_t size) const {
        const compute_strided_desc desc = elements.desc();
        detail::run([&](compute_error *failed) { return compute_stream_write_strided(handle_, &to.get(), &desc, bytes, size, failed); });
    }
    /// The bytes are borrowed until the event is over.
    event write_borrowed(const view &to, const strided &elements, const void *bytes, std::uint64_t size) const {
        const compute_strided_desc desc = elements.desc();
        compute_event made = nullptr;
        detail::run([&](compute_error *failed) {
            return compute_stream_write_strided_borrowed(handle_, &to.get(), &desc, bytes, size, &made, failed);
        });
        return event(made);
    }
    void read(const view &from, const strided &elements, void *bytes, std::uint64_t size) const {
        const compute_strided_desc desc = elements.desc();
        detail::run([&](compute_error *failed) { return compute_stream_read_strided(handle_, &from.get(), &desc, bytes, size, failed); });
    }
    event read_async(const view &from, const strided &elements, void *bytes, std::uint64_t size) const {
        const compute_strided_desc desc = elements.desc();
        compute_event made = nullptr;
        detail::run(
            [&](compute_error *failed) { return compute_stream_read_strided_async(handle_, &from.get(), &desc, bytes, size, &made, failed); });
        return event(made);
    }
    outcome copy(const view &from, const view &to, const strided &elements) const {
        const compute_strided_desc desc = elements.desc();
        const compute_status status =
            detail::run([&](compute_error *failed) { return compute_stream_copy_strided(handle_, &from.get(), &to.get(), &desc, failed); });
        return status == COMPUTE_SKIPPED ? outcome::skipped : outcome::enqueued;
    }
    /// Promises bytes without copying them.
    readback read_lazy(const view &from) const {
        compute_readback made = nullptr;
        detail::run([&](compute_error *failed) { return compute_stream_read_lazy(handle_, &from.get(), &made, failed); });
        return readback(made);
    }
    readback read_lazy(const view &from, const strided &elements) const {
        const compute_strided_desc desc = elements.desc();
        compute_readback made = nullptr;
        detail::run([&](compute_error *failed) { return compute_stream_read_strided_lazy(handle_, &from.get(), &desc, &made, failed); });
        return readback(made);
    }
    /// Gives every page of this stream's pools back that holds nothing.
    void cleanup() const {
        detail::run([&](compute_error *failed) { return compute_stream_cleanup(handle_, failed); });
    }
    /// The pools of this stream; none if it never allocated.
    std::vector<compute_pool_report> memory_report() const {
        std::vector<compute_pool_report> reports;
        std::size_t count = 0;
        do {
            reports.assign(count, compute_pool_report COMPUTE_POOL_REPORT_INIT);
            detail::run([&](compute_error *failed) { return compute_stream_memory_report(handle_, reports.data(), 0, reports.size(), &count, failed); });
        } while (count > reports.size());
        reports.resize(count);
        return reports;
    }
    /// Replaces the main pools.
    void set_pools(const std::vector<compute_pool_desc> &pools) const {
        detail::run([&](compute_error *failed) { return compute_stream_set_pools(handle_, pools.data(), pools.size(), 0, failed); });
    }
    /// What later buffers of this stream are charged to.
    void set_budget(const budget &shared) const {
        detail::run([&](compute_error *failed) { return compute_stream_set_budget(handle_, shared.get(), failed); });
    }
    void set_no_budget() const {
        detail::run([&](compute_error *failed) { return compute_stream_set_budget(handle_, nullptr, failed); });
    }
    /// Reads without waiting: `bytes` is borrowed until the event is over, whose wait gives the answer.
    event read_async(const view &from, void *bytes, std::uint64_t size) const {
        compute_event made = nullptr;
        detail::run([&](compute_error *failed) { return compute_stream_read_async(handle_, &from.get(), bytes, size, &made, failed); });
        return event(made);
    }
    /// Writes without copying: `bytes` is borrowed until the event is over.
    event write_borrowed(const view &to, const void *bytes, std::uint64_t size) const {
        compute_event made = nullptr;
        detail::run([&](compute_error *failed) { return compute_stream_write_borrowed(handle_, &to.get(), bytes, size, &made, failed); });
        return event(made);
    }
    outcome copy(const view &from, const view &to) const {
        const compute_status status = detail::run([&](compute_error *failed) { return compute_stream_copy(handle_, &from.get(), &to.get(), failed); });
        return status == COMPUTE_SKIPPED ? outcome::skipped : outcome::enqueued;
    }
    /// Copies to this stream's device from another's, behind the earlier work of `source`, a stream there; see compute_stream_copy_between.
    outcome copy_from(const stream &source, const view &from, const view &to) const {
        const compute_status status = detail::run(
            [&](compute_error *failed) { return compute_stream_copy_between(source.handle_, &from.get(), handle_, &to.get(), failed); });
        return status == COMPUTE_SKIPPED ? outcome::skipped : outcome::enqueued;
    }
    /// Repeats a value of 1, 2, 4, 8 or 16 bytes.
    template <typename T>
    void fill(const view &to, const T &value) const {
        static_assert(std::is_trivially_copyable_v<T>, "plain values only");
        detail::run([&](compute_error *failed) { return compute_stream_fill(handle_, &to.get(), &value, sizeof value, failed); });
    }
    /// Opens a capture window: run once what is to be captured, then begin a `capture`. Where that may throw, a `warm_up` closes the window.
    void prepare_capture() const {
        detail::run([&](compute_error *failed) { return compute_stream_prepare_capture(handle_, failed); });
    }
    /// Enqueues a graph as one piece of work.
    outcome replay(const graph &of) const;
    /// The moment after all that was enqueued so far.
    event record() const {
        compute_event made = nullptr;
        detail::run([&](compute_error *failed) { return compute_stream_record(handle_, &made, failed); });
        return event(made);
    }
    /// Makes later work of this stream wait for an event of the same device.
    void wait(const event &for_) const {
        detail::run([&](compute_error *failed) { return compute_stream_wait_event(handle_, for_.get(), failed); });
    }
    void flush() const {
        detail::run([&](compute_error *failed) { return compute_stream_flush(handle_, failed); });
    }
    /// Waits for all that was enqueued; false when the time ran out first.
    bool sync(std::uint64_t timeout_ns = forever) const {
        return detail::run([&](compute_error *failed) { return compute_stream_sync(handle_, nullptr, 0, 0, timeout_ns, failed); }) == COMPUTE_OK;
    }
    /// The same, and throws when a failure claims some of these bytes.
    bool sync(const view &of, std::uint64_t timeout_ns = forever) const {
        return detail::run([&](compute_error *failed) { return compute_stream_sync(handle_, &of.get(), 1, 0, timeout_ns, failed); }) == COMPUTE_OK;
    }
};

inline buffer::buffer(const device &on, const stream &of, std::uint64_t size, std::string_view label, std::uint64_t flags) {
    make(on, of.get(), size, label, flags);
}

/// Describes a launch and enqueues it. What it is given by address must live until `on` returns; values are copied. Can be used again: a slot that is bound anew has what it was bound to last.
class launch {
public:
    explicit launch(const kernel &of) {
        desc_.kernel = of.get();
        grid(1);
    }
    /// Workgroups per axis, also where they were read from memory before.
    launch &grid(std::uint32_t x, std::uint32_t y = 1, std::uint32_t z = 1) {
        desc_.grid[0] = x;
        desc_.grid[1] = y;
        desc_.grid[2] = z;
        desc_.indirect = {};
        return *this;
    }
    /// The grid is read from three u32 in memory, until `grid` says another one.
    launch &indirect(const view &from) {
        desc_.indirect = from.get();
        return *this;
    }
    /// A view for a slot of group 0.
    launch &bind(std::uint32_t slot, const view &of, std::uint64_t flags = 0) { return bind_at(0, slot, of, flags); }
    launch &bind_at(std::uint32_t group, std::uint32_t slot, const view &of, std::uint64_t flags = 0) {
        bindings_[place_for(group, slot)] = { group, slot, of.get().buffer, of.get().offset, of.get().size, nullptr, 0, flags };
        return *this;
    }
    /// Inline bytes for a uniform block of group 0.
    launch &bind_bytes(std::uint32_t slot, const void *bytes, std::uint64_t size) { return bind_bytes_at(0, slot, bytes, size); }
    launch &bind_bytes_at(std::uint32_t group, std::uint32_t slot, const void *bytes, std::uint64_t size) {
        bindings_[place_for(group, slot)] = { group, slot, nullptr, 0, 0, bytes, size, 0 };
        return *this;
    }
    /// A plain value for a uniform block of group 0, or for a value of a native kernel. It is copied.
    template <typename T>
    launch &bind_value(std::uint32_t slot, const T &value) {
        static_assert(std::is_trivially_copyable_v<T>, "plain values only");
        const auto *bytes = reinterpret_cast<const unsigned char *>(&value);
        bind_bytes(slot, nullptr, sizeof value);
        return keep(slot, bytes, sizeof value);
    }
    /// A view as a tensor, for a tensor map of a native kernel. The map is copied.
    launch &bind_tensor(std::uint32_t slot, const view &of, const compute_tensor_map_desc &map, std::uint64_t flags = 0) {
        const auto *bytes = reinterpret_cast<const unsigned char *>(&map);
        bind(slot, of, flags | COMPUTE_BINDING_FLAG_TENSOR_MAP);
        return keep(slot, bytes, sizeof map);
    }
    launch &immediates(const void *bytes, std::uint64_t size) {
        desc_.immediates = bytes;
        desc_.immediate_size = size;
        return *this;
    }
    launch &label(std::string_view text) {
        desc_.label = text.data();
        desc_.label_length = text.size();
        return *this;
    }
    /// `COMPUTE_LAUNCH_...`
    launch &mode(std::uint32_t mode) {
        desc_.mode = mode;
        return *this;
    }
    outcome on(const stream &lane) {
        const compute_launch_desc &given = desc();
        const compute_status status = detail::run([&](compute_error *failed) { return compute_stream_launch(lane.get(), &given, failed); });
        return status == COMPUTE_SKIPPED ? outcome::skipped : outcome::enqueued;
    }

    /// For the calls of compute.h; valid until this changes.
    const compute_launch_desc &desc() {
        // Only now, as a copy of this, or a further value, moves them.
        for (const place &at : placed_) bindings_[at.binding].data = values_.data() + at.offset;
        desc_.bindings = bindings_.data();
        desc_.binding_count = bindings_.size();
        return desc_;
    }

private:
    struct place {
        std::size_t binding, offset, size;
    };

    /// Which binding is a slot's; a new one where it has none yet. What it had is let go of.
    std::size_t place_for(std::uint32_t group, std::uint32_t slot) {
        std::size_t index = 0;
        while (index < bindings_.size() && (bindings_[index].group != group || bindings_[index].slot != slot)) index++;
        if (index == bindings_.size()) bindings_.emplace_back();
        for (std::size_t n = 0; n < placed_.size(); n++) {
            if (placed_[n].binding != index) continue;
            const place old = placed_[n];
            const auto first = values_.begin() + static_cast<std::ptrdiff_t>(old.offset);
            values_.erase(first, first + static_cast<std::ptrdiff_t>(old.size));
            placed_.erase(placed_.begin() + static_cast<std::ptrdiff_t>(n));
            for (place &other : placed_) other.offset -= other.offset > old.offset ? old.size : 0;
            break;
        }
        return index;
    }
    /// Copies what a binding of group 0 that was just made points to.
    launch &keep(std::uint32_t slot, const unsigned char *bytes, std::size_t size) {
        placed_.push_back({ place_for(0, slot), values_.size(), size });
        values_.insert(values_.end(), bytes, bytes + size);
        return *this;
    }

    compute_launch_desc desc_ = COMPUTE_LAUNCH_DESC_INIT;
    std::vector<compute_binding> bindings_;
    /// Copies of values, one behind the other, and which binding has which.
    std::vector<unsigned char> values_;
    std::vector<place> placed_;
};

inline void graph::update(compute_node node, launch &with) const {
    detail::run([&](compute_error *failed) { return compute_graph_update_launch(handle_, node, &with.desc(), failed); });
}

inline outcome stream::replay(const graph &of) const {
    const compute_status status = detail::run([&](compute_error *failed) { return compute_stream_replay(handle_, of.get(), failed); });
    return status == COMPUTE_SKIPPED ? outcome::skipped : outcome::enqueued;
}

/// Records what is asked of a stream whose capture was prepared. Whatever happens, the window is closed when this goes.
class capture {
public:
    /// `flags`: `COMPUTE_GRAPH_FLAG_TIMED` for `graph::times`.
    explicit capture(const stream &of, std::string_view label = {}, std::uint64_t flags = 0) : capture(of.get(), label, flags) {}
    capture(const capture &) = delete;
    capture &operator=(const capture &) = delete;
    ~capture() {
        compute_graph made = nullptr;
        if (number_ != 0) (void)compute_stream_end_capture(stream_, 0, &made, nullptr);
    }
    /// Throws when something doomed the window.
    graph end() {
        compute_graph made = nullptr;
        const std::uint64_t number = std::exchange(number_, 0);
        detail::run([&](compute_error *failed) { return compute_stream_end_capture(stream_, number, &made, failed); });
        return graph(made);
    }

private:
    friend class warm_up;
    /// `prepared`: whose window it was, told that it no longer is.
    capture(compute_stream of, std::string_view label, std::uint64_t flags, compute_stream *prepared = nullptr) : stream_(of) {
        compute_graph_desc desc = COMPUTE_GRAPH_DESC_INIT;
        desc.label = label.data();
        desc.label_length = label.size();
        desc.flags = flags;
        detail::run([&](compute_error *failed) { return compute_stream_begin_capture(stream_, &desc, &number_, failed); });
        if (prepared != nullptr) *prepared = nullptr;
    }
    compute_stream stream_;
    std::uint64_t number_ = 0;
};

/// A capture window while what is to be captured runs once. When this goes before `begin` has made a `capture` of it, the window is closed.
class warm_up {
public:
    explicit warm_up(const stream &of) : stream_(of.get()) { of.prepare_capture(); }
    warm_up(const warm_up &) = delete;
    warm_up &operator=(const warm_up &) = delete;
    ~warm_up() {
        compute_graph made = nullptr;
        if (stream_ != nullptr) (void)compute_stream_end_capture(stream_, 0, &made, nullptr);
    }
    /// Once. As the constructor of `capture`.
    capture begin(std::string_view label = {}, std::uint64_t flags = 0) { return capture(stream_, label, flags, &stream_); }

private:
    compute_stream stream_;
};

/// An explicit graph that is being made: nodes follow those of `after`, and all earlier ones that they conflict with.
class graph_builder : public detail::owned<compute_graph_builder, compute_graph_builder_release, compute_graph_builder_destroy> {
public:
    using nodes = std::vector<compute_node>;

    graph_builder() noexcept = default;
    explicit graph_builder(const device &on, std::string_view label = {}, std::uint64_t flags = 0) {
        compute_graph_desc desc = COMPUTE_GRAPH_DESC_INIT;
        desc.label = label.data();
        desc.label_length = label.size();
        desc.flags = flags;
        detail::run([&](compute_error *failed) { return compute_graph_builder_create(on.get(), &desc, &handle_, failed); });
    }
    /// Takes a reference over.
    explicit graph_builder(compute_graph_builder handle) noexcept : owned(handle) {}

    compute_node add(launch &work, const nodes &after = {}) const {
        return node([&](compute_node *made, compute_error *failed) {
            return compute_graph_builder_add_launch(handle_, &work.desc(), after.data(), after.size(), made, failed);
        });
    }
    compute_node add_copy(const view &from, const view &to, const nodes &after = {}) const {
        return node([&](compute_node *made, compute_error *failed) {
            return compute_graph_builder_add_copy(handle_, &from.get(), &to.get(), nullptr, 0, after.data(), after.size(), made, failed);
        });
    }
    compute_node add_copy(const view &from, const view &to, const strided &elements, const nodes &after = {}) const {
        const compute_strided_desc desc = elements.desc();
        return node([&](compute_node *made, compute_error *failed) {
            return compute_graph_builder_add_copy_strided(handle_, &from.get(), &to.get(), &desc, nullptr, 0, after.data(), after.size(), made, failed);
        });
    }
    /// Repeats a value of 1, 2, 4, 8 or 16 bytes.
    template <typename T>
    compute_node add_fill(const view &to, const T &value, const nodes &after = {}) const {
        static_assert(std::is_trivially_copyable_v<T>, "plain values only");
        return node([&](compute_node *made, compute_error *failed) {
            return compute_graph_builder_add_fill(handle_, &to.get(), &value, sizeof value, nullptr, 0, after.data(), after.size(), made, failed);
        });
    }
    compute_node add_join(const nodes &after) const {
        return node([&](compute_node *made, compute_error *failed) {
            return compute_graph_builder_add_join(handle_, after.data(), after.size(), made, failed);
        });
    }
    graph instantiate() const {
        compute_graph made = nullptr;
        detail::run([&](compute_error *failed) { return compute_graph_builder_instantiate(handle_, &made, failed); });
        return graph(made);
    }

private:
    template <typename Call>
    compute_node node(Call &&call) const {
        compute_node made = 0;
        detail::run([&](compute_error *failed) { return call(&made, failed); });
        return made;
    }
};

/// The devices that can be opened.
inline std::vector<compute_device_info> devices() {
    std::size_t count = 0;
    detail::run([&](compute_error *failed) { return compute_devices_list(nullptr, nullptr, 0, 0, &count, failed); });
    std::vector<compute_device_info> infos(count, compute_device_info COMPUTE_DEVICE_INFO_INIT);
    detail::run([&](compute_error *failed) { return compute_devices_list(nullptr, infos.data(), 0, infos.size(), &count, failed); });
    infos.resize(count < infos.size() ? count : infos.size());
    return infos;
}

} // namespace compute

#endif
