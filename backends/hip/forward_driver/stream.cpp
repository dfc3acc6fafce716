// Streams and events: the handles are CUDA's.
#include "forward.h"

// The flags have the same numbers, but for those of AMD's caches.
EXPORT int hipStreamCreateWithFlags(Handle* out, unsigned flags) { ENTER; return in_hip(cu.stream_create(out, flags)); }
EXPORT int hipStreamDestroy(Handle stream) { ENTER; return in_hip(cu.stream_destroy(stream)); }
EXPORT int hipStreamQuery(Handle stream) { ENTER; return in_hip(cu.stream_query(stream)); }
EXPORT int hipStreamSynchronize(Handle stream) { ENTER; return in_hip(cu.stream_finish(stream)); }
EXPORT int hipStreamWaitEvent(Handle stream, Handle event, unsigned flags) { ENTER; return in_hip(cu.stream_wait(stream, event, flags)); }
EXPORT int hipEventCreateWithFlags(Handle* out, unsigned flags) { ENTER; return in_hip(cu.event_create(out, flags & 7)); }
EXPORT int hipEventDestroy(Handle event) { ENTER; return in_hip(cu.event_destroy(event)); }
EXPORT int hipEventRecord(Handle event, Handle stream) { ENTER; return in_hip(cu.event_record(event, stream)); }
EXPORT int hipEventQuery(Handle event) { ENTER; return in_hip(cu.event_query(event)); }
EXPORT int hipEventElapsedTime(float* milliseconds, Handle from, Handle to) { ENTER; return in_hip(cu.event_elapsed(milliseconds, from, to)); }
