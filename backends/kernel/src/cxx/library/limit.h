// Time limits. The queue's word holds when its last launch with a limit began, in 48 bits that count 256 ticks of the device's clock each, and below them
// that launch's number: so one word serves all launches of a queue, which follow one another, and nobody has to clear it.
struct TimeLimit { u64* began; u32* stopped; u64 limit; u16 number; };
// Ends this invocation once the time is over. The first of each workgroup sees to it that the beginning is noted.
C_FN void c_keep_time(const TimeLimit& l, bool notes) {
  u64 began = c_atomic_load(l.began);
  u64 now = C_CLOCK() >> 8;
  if ((u16)began != l.number) {
    if (!notes) return;
    u64 was = c_atomic_compare(l.began, began, now << 16 | (u64)l.number);
    if (was == began) return;
    began = was;
  }
  // Others may have noted a moment that is later than this one's.
  u64 taken = (now - (began >> 16)) & 0xffffffffffffull;
  if (taken > l.limit && taken < 0x800000000000ull) {
    *(volatile u32*)l.stopped = 1u;
    C_LEAVE;
  }
}
// Before a pass of a loop. A look at the clock takes as long as many short passes.
C_FN void c_pass(const TimeLimit& l, u32& passes) { if ((++passes & 255u) == 0u) c_keep_time(l, false); }
