/* A plugin with the static library in it, as an engine makes one that ships as a single module. `process` loads, uses and unloads it: what it looks up is the library's. */
#include <libcompute/compute.h>

compute_status plugin_check(void);
compute_status plugin_check(void)
{
    compute_table table;
    return compute_get_table(COMPUTE_ABI, &table, sizeof table, NULL, NULL);
}
