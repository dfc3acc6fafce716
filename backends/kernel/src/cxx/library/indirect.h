// A grid whose counts lie in memory. Workgroups of the launch take those of the grid in turn, one after another: so the launch needs no counts.
struct Indirect { const u32* counts; u32* told; u32 most_x; u32 most_y; u32 most_z; };
struct Counts { u32 x; u32 y; u32 z; };
// The counts. Of a grid over the limits nothing runs, and the first workgroup tells its counts.
C_FN Counts c_counts(const Indirect& g) {
  const Counts n = {g.counts[0], g.counts[1], g.counts[2]};
  if (n.x <= g.most_x && n.y <= g.most_y && n.z <= g.most_z) return n;
  if (C_GROUP_X == 0u && c_local_index() == 0u) {
    volatile u32* told = g.told;
    told[1] = n.x; told[2] = n.y; told[3] = n.z;
    told[0] = 1u;
  }
  return Counts{0u, 0u, 0u};
}
// Where a workgroup is, by its number. Most grids have one axis, and a division of 64 bits takes long.
C_FN Counts c_group_at(u64 at, const Counts& n) {
  if (n.y == 1u && n.z == 1u) return Counts{(u32)at, 0u, 0u};
  const u64 row = at / n.x;
  return Counts{(u32)(at - row * n.x), (u32)(row % n.y), (u32)(row / n.y)};
}
