// Streams, each with a thread of its own that does the work in order, and events.
#include <chrono>
#include <random>

#include "driver.h"

using Clock = std::chrono::steady_clock;

// One record of an event: an event that is recorded again begins another, and whoever waits for the former still does.
struct Record {
  std::mutex lock;
  std::condition_variable done_now;
  bool done = false;
  Clock::time_point when;
};

struct Event {
  std::mutex lock;
  std::shared_ptr<Record> last; // None: never recorded, which counts as done.
  bool timed;
};

struct Stream {
  std::mutex lock;
  std::condition_variable more, less;
  std::deque<std::function<void()>> work;
  bool running = false, ends = false;
  std::minstd_rand random{12345};

  void run() {
    std::unique_lock<std::mutex> hold(lock);
    for (;;) {
      more.wait(hold, [&] { return !work.empty() || ends; });
      if (work.empty()) return;
      auto next = std::move(work.front());
      work.pop_front();
      running = true;
      hold.unlock();
      if (unsigned most = settings().delay) std::this_thread::sleep_for(std::chrono::microseconds(random() % (most + 1)));
      // After an error that ends the device nothing runs any more.
      if (!poisoned()) next();
      next = nullptr;
      hold.lock();
      running = false;
      less.notify_all();
    }
  }
  bool idle() const { return work.empty() && !running; }
};

namespace {

// Threads of streams outlive the end of main, so what they may touch is never destroyed.
std::mutex streams_lock;
auto& streams = *new std::map<Stream*, std::shared_ptr<Stream>>;
auto& events = *new std::set<Event*>;

Event* known(void* event) {
  std::lock_guard<std::mutex> hold(streams_lock);
  return events.count((Event*)event) ? (Event*)event : nullptr;
}

std::shared_ptr<Record> last(Event* event) {
  std::lock_guard<std::mutex> hold(event->lock);
  return event->last;
}

// Ends when the device does, too: nobody comes to finish what others wait for then.
void wait(Record& record) {
  std::unique_lock<std::mutex> hold(record.lock);
  while (!record.done && !poisoned()) record.done_now.wait_for(hold, std::chrono::milliseconds(5));
}

Error create(void** out) {
  auto stream = std::make_shared<Stream>();
  // The thread keeps the stream, so one that is destroyed still ends its work.
  std::thread([stream] { stream->run(); }).detach();
  std::lock_guard<std::mutex> hold(streams_lock);
  streams[stream.get()] = stream;
  count(STREAM, 1);
  *out = stream.get();
  return SUCCESS;
}

} // namespace

Stream* find(void* stream) {
  std::lock_guard<std::mutex> hold(streams_lock);
  if (streams.count((Stream*)stream)) return (Stream*)stream;
  mistake(stream ? "%p is no stream" : "the default stream is used, which waits for all others (%p)", stream);
  return nullptr;
}

Error enqueue(void* handle, const Call& call, std::function<void()> work) {
  Stream* stream = find(handle);
  if (!stream) return INVALID_HANDLE;
  if (int code = call.late) work = [code] { poison(code); };
  std::lock_guard<std::mutex> hold(stream->lock);
  stream->work.push_back(std::move(work));
  stream->more.notify_one();
  return SUCCESS;
}

void drain_all() {
  std::vector<std::shared_ptr<Stream>> all;
  {
    std::lock_guard<std::mutex> hold(streams_lock);
    for (auto& [_, stream] : streams) all.push_back(stream);
  }
  for (auto& stream : all) {
    std::unique_lock<std::mutex> hold(stream->lock);
    stream->less.wait(hold, [&] { return stream->idle(); });
  }
}

EXPORT int hipStreamCreateWithFlags(void** out, unsigned flags) {
  BEGIN;
  if (!(flags & 1)) mistake("a stream that the default stream waits for");
  return create(out);
}
EXPORT int hipStreamCreateWithPriority(void** out, unsigned flags, int) { BEGIN; (void)flags; return create(out); }
EXPORT int hipStreamDestroy(void* handle) {
  BEGIN;
  Stream* stream = find(handle);
  if (!stream) return INVALID_HANDLE;
  std::shared_ptr<Stream> kept;
  {
    std::lock_guard<std::mutex> hold(streams_lock);
    kept = streams[stream];
    streams.erase(stream);
  }
  std::lock_guard<std::mutex> hold(stream->lock);
  stream->ends = true;
  stream->more.notify_one();
  count(STREAM, -1);
  return SUCCESS;
}
EXPORT int hipStreamQuery(void* handle) {
  BEGIN;
  Stream* stream = find(handle);
  if (!stream) return INVALID_HANDLE;
  std::lock_guard<std::mutex> hold(stream->lock);
  return stream->idle() ? poisoned() : NOT_READY;
}
EXPORT int hipStreamSynchronize(void* handle) {
  BEGIN;
  Stream* stream = find(handle);
  if (!stream) return INVALID_HANDLE;
  std::unique_lock<std::mutex> hold(stream->lock);
  stream->less.wait(hold, [&] { return stream->idle(); });
  return poisoned();
}
EXPORT int hipStreamWaitEvent(void* stream, void* handle, unsigned) {
  BEGIN;
  Event* event = known(handle);
  if (!event) return INVALID_HANDLE;
  auto record = last(event);
  return enqueue(stream, call, [record] { if (record) wait(*record); });
}
EXPORT int hipStreamWriteValue32(void* stream, void* to, uint32_t value, unsigned) {
  BEGIN;
  if (!in_device(to, 4, "a value")) return INVALID_VALUE;
  return enqueue(stream, call, [=] { __atomic_store_n((uint32_t*)to, value, __ATOMIC_RELEASE); });
}
EXPORT int hipStreamWriteValue64(void* stream, void* to, uint64_t value, unsigned) {
  BEGIN;
  if (!in_device(to, 8, "a value")) return INVALID_VALUE;
  return enqueue(stream, call, [=] { __atomic_store_n((uint64_t*)to, value, __ATOMIC_RELEASE); });
}
// Nothing is captured here.
EXPORT int hipStreamIsCapturing(void* handle, unsigned* status) {
  BEGIN;
  *status = 0;
  return find(handle) ? SUCCESS : INVALID_HANDLE;
}
// Around every call of a device, and nobody looks at its answer: it does not count, so that other calls get their turn to fail.
EXPORT int hipThreadExchangeStreamCaptureMode(unsigned* mode) {
  static thread_local unsigned current = 0;
  std::swap(*mode, current);
  return SUCCESS;
}

EXPORT int hipEventCreateWithFlags(void** out, unsigned flags) {
  BEGIN;
  Event* event = new Event;
  event->timed = !(flags & 2);
  std::lock_guard<std::mutex> hold(streams_lock);
  events.insert(event);
  count(EVENT, 1);
  *out = event;
  return SUCCESS;
}
EXPORT int hipEventDestroy(void* handle) {
  BEGIN;
  std::lock_guard<std::mutex> hold(streams_lock);
  if (!events.erase((Event*)handle)) {
    mistake("%p is no event", handle);
    return INVALID_HANDLE;
  }
  delete (Event*)handle;
  count(EVENT, -1);
  return SUCCESS;
}
EXPORT int hipEventRecord(void* handle, void* stream) {
  BEGIN;
  Event* event = known(handle);
  if (!event) return INVALID_HANDLE;
  auto record = std::make_shared<Record>();
  Error error = enqueue(stream, call, [record] {
    std::lock_guard<std::mutex> hold(record->lock);
    record->done = true;
    record->when = Clock::now();
    record->done_now.notify_all();
  });
  if (error) return error;
  std::lock_guard<std::mutex> hold(event->lock);
  event->last = record;
  return SUCCESS;
}
EXPORT int hipEventQuery(void* handle) {
  BEGIN;
  Event* event = known(handle);
  if (!event) return INVALID_HANDLE;
  auto record = last(event);
  if (!record) return SUCCESS;
  std::lock_guard<std::mutex> hold(record->lock);
  return record->done ? SUCCESS : poisoned() ? (Error)poisoned() : NOT_READY;
}
EXPORT int hipEventSynchronize(void* handle) {
  BEGIN;
  Event* event = known(handle);
  if (!event) return INVALID_HANDLE;
  auto record = last(event);
  if (record) wait(*record);
  return poisoned();
}
EXPORT int hipEventElapsedTime(float* milliseconds, void* from, void* to) {
  BEGIN;
  Event *first = known(from), *second = known(to);
  if (!first || !second || !first->timed || !second->timed) return INVALID_HANDLE;
  auto a = last(first), b = last(second);
  if (!a || !b) return INVALID_HANDLE;
  if (a == b) { *milliseconds = 0; return SUCCESS; }
  std::scoped_lock hold(a->lock, b->lock);
  if (!a->done || !b->done) return NOT_READY;
  *milliseconds = std::chrono::duration<float, std::milli>(b->when - a->when).count();
  return SUCCESS;
}
