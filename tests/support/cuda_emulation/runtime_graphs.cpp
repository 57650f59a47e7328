// The stand-in's captures, graphs and events.
#include <algorithm>

#include "emulation.hpp"
#include "runtime_state.hpp"

namespace gym::emulation::runtime {
namespace {

cudaError_t invalidate(Capture& capture, cudaError_t error) {
    capture.invalid = true;
    return error;
}

Graph& graph_of(void* handle) {
    return *static_cast<Graph*>(handle);
}

cudaError_t destroy(std::vector<std::unique_ptr<Graph>>& graphs, const void* handle) {
    const auto erased = std::erase_if(graphs, [&](const auto& g) { return g.get() == handle; });
    return keep(erased == 1 ? cudaSuccess : cudaErrorInvalidValue);
}

bool exists(const std::vector<std::unique_ptr<Graph>>& graphs, const void* handle) {
    return std::ranges::any_of(graphs, [&](const auto& g) { return g.get() == handle; });
}

}  // namespace

void ask(Stream& stream, Task task) {
    if (stream.capture)
        stream.capture->tasks.push_back(std::move(task));
    else
        stream.work.push_back(std::move(task));
}

cudaError_t check_stream(cudaStream_t handle) {
    if (handle != nullptr) {
        Stream& stream = stream_of(handle);
        if (stream.capture && stream.capture->invalid) return cudaErrorStreamCaptureInvalidated;
        return state_of(stream.device);
    }
    for (const auto& stream : runtime().streams)
        if (stream->capture && stream->is_blocking)
            return invalidate(*stream->capture, cudaErrorStreamCaptureImplicit);
    return cudaErrorNotSupported;  // the stand-in has no legacy stream
}

cudaError_t check_unseen_call() {
    for (const auto& stream : runtime().streams) {
        if (!stream->capture || stream->capture->mode == cudaStreamCaptureModeRelaxed) continue;
        if (stream->capture->mode == cudaStreamCaptureModeGlobal ||
            stream->capture->thread == std::this_thread::get_id())
            return invalidate(*stream->capture, cudaErrorStreamCaptureUnsupported);
    }
    return cudaSuccess;
}

cudaError_t check_wait(Stream& stream) {
    if (stream.capture) return invalidate(*stream.capture, cudaErrorStreamCaptureUnsupported);
    return check_unseen_call();
}

std::size_t graphs() {
    const std::lock_guard lock(runtime().mutex);
    return runtime().graphs.size() + runtime().executable_graphs.size();
}
void refuse_graphs() {
    const std::lock_guard lock(runtime().mutex);
    runtime().refuse_graphs = true;
}

}  // namespace gym::emulation::runtime

// NOLINTBEGIN: names and types are the runtime's.
using namespace gym::emulation::runtime;

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
    const std::lock_guard lock(runtime().mutex);
    if (handle == nullptr) return keep(cudaErrorStreamCaptureUnsupported);
    Stream& stream = stream_of(handle);
    if (const cudaError_t broken = state_of(stream.device); broken != cudaSuccess)
        return keep(broken);
    if (stream.capture) return keep(invalidate(*stream.capture, cudaErrorIllegalState));
    stream.capture = Capture{std::this_thread::get_id(), mode, false, {}};
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* out) {
    const std::lock_guard lock(runtime().mutex);
    *out = nullptr;
    Stream& stream = stream_of(handle);
    if (!stream.capture) return keep(cudaErrorIllegalState);
    if (stream.capture->mode != cudaStreamCaptureModeRelaxed &&
        stream.capture->thread != std::this_thread::get_id())
        return keep(invalidate(*stream.capture, cudaErrorStreamCaptureWrongThread));
    Capture capture = std::move(*stream.capture);
    stream.capture.reset();
    if (capture.invalid) return keep(cudaErrorStreamCaptureInvalidated);
    auto& graph = runtime().graphs.emplace_back(new Graph{stream.device, std::move(capture.tasks)});
    *out = reinterpret_cast<cudaGraph_t>(graph.get());
    return keep(state_of(stream.device));
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* out, cudaGraph_t handle, unsigned long long) {
    const std::lock_guard lock(runtime().mutex);
    *out = nullptr;
    if (!exists(runtime().graphs, handle)) return keep(cudaErrorInvalidValue);
    const Graph& graph = graph_of(handle);
    if (const cudaError_t broken = state_of(graph.device); broken != cudaSuccess)
        return keep(broken);
    if (runtime().refuse_graphs) return keep(cudaErrorNotSupported);
    if (const cudaError_t forbidden = check_unseen_call(); forbidden != cudaSuccess)
        return keep(forbidden);
    if (allocation_fails()) return keep(cudaErrorMemoryAllocation);
    auto& executable = runtime().executable_graphs.emplace_back(new Graph(graph));
    *out = reinterpret_cast<cudaGraphExec_t>(executable.get());
    return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t stream_handle) {
    const std::lock_guard lock(runtime().mutex);
    if (!exists(runtime().executable_graphs, handle)) return keep(cudaErrorInvalidValue);
    if (const cudaError_t error = check_stream(stream_handle); error != cudaSuccess)
        return keep(error);
    Stream& stream = stream_of(stream_handle);
    const Graph& graph = graph_of(handle);
    if (graph.device != stream.device || stream.device != current_device())
        return keep(cudaErrorInvalidResourceHandle);
    ++runtime().work.graphs;
    for (const Task& task : graph.tasks)
        ask(stream, task);
    return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t handle) {
    const std::lock_guard lock(runtime().mutex);
    return destroy(runtime().graphs, handle);
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t handle) {
    const std::lock_guard lock(runtime().mutex);
    return destroy(runtime().executable_graphs, handle);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* out, unsigned) {
    *out = reinterpret_cast<cudaEvent_t>(new Event{current_device(), true});
    return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t handle) {
    delete reinterpret_cast<Event*>(handle);
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream_handle) {
    const std::lock_guard lock(runtime().mutex);
    if (const cudaError_t error = check_stream(stream_handle); error != cudaSuccess)
        return keep(error);
    Event& event = *reinterpret_cast<Event*>(handle);
    Stream& stream = stream_of(stream_handle);
    event.is_over.reset();
    if (stream.capture) return cudaSuccess;
    event.is_over = false;
    ask(stream, [&event] { event.is_over = true; });
    return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t handle) {
    const std::lock_guard lock(runtime().mutex);
    if (const cudaError_t forbidden = check_unseen_call(); forbidden != cudaSuccess)
        return keep(forbidden);
    const Event& event = *reinterpret_cast<Event*>(handle);
    if (!event.is_over) return keep(cudaErrorCapturedEvent);
    return *event.is_over ? cudaSuccess : cudaErrorNotReady;
}

}  // extern "C"
// NOLINTEND
