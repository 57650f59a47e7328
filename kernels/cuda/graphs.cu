#include "graphs.hpp"

#include <cstring>
#include <type_traits>

namespace gym::kernels::cuda {

namespace {

/// A device starts with a run's first segment while the host notes the second.
constexpr int kCommandsMax = 256;
/// Fewer commands than these are started one by one.
constexpr int kCommandsMin = 8;

static_assert(std::has_unique_object_representations_v<Command>, "it is compared as bytes");

}  // namespace

cudaError_t start(const Command& command, const void* arguments, cudaStream_t stream) {
    if (command.threads > 0) {
        void* pointers[] = {const_cast<void*>(arguments)};
        return cudaLaunchKernel(command.what, dim3(command.x, command.y, command.z),
                                dim3(command.threads), pointers, 0, stream);
    }
    if (command.what == nullptr) return cudaMemsetAsync(command.to, 0, command.bytes, stream);
    return cudaMemcpyAsync(command.to, command.what, command.bytes, cudaMemcpyDeviceToDevice,
                           stream);
}

Graphs::~Graphs() {
    for (Segment& segment : segments_)
        destroy_graph(segment);
}

void Graphs::begin() {
    noting_ = true;
    next_ = 0;
}

cudaError_t Graphs::end() {
    const cudaError_t error = flush();
    noting_ = false;
    while (segments_.size() > next_) {
        destroy_graph(segments_.back());
        segments_.pop_back();
    }
    return error;
}

bool Graphs::add(const Command& command, const void* arguments) {
    const auto append = [this](const void* data, std::size_t bytes) {
        const auto* const from = static_cast<const std::uint8_t*>(data);
        noted_.insert(noted_.end(), from, from + bytes);
    };
    append(&command, sizeof command);
    if (command.threads > 0) append(arguments, command.bytes);
    return ++commands_ == kCommandsMax;
}

void Graphs::drop_noted() {
    noted_.clear();
    commands_ = 0;
}

cudaError_t Graphs::flush() {
    if (commands_ == 0) return cudaSuccess;
    if (next_ == segments_.size()) segments_.emplace_back();
    Segment& segment = segments_[next_++];
    cudaError_t refused = cudaSuccess;
    if (segment.commands != noted_) {
        destroy_graph(segment);
        segment.commands.swap(noted_);
    } else if (segment.graph == nullptr && commands_ >= kCommandsMin && refused_because_.empty()) {
        refused = capture(segment);
    }
    drop_noted();
    const cudaError_t error =
        segment.graph != nullptr ? cudaGraphLaunch(segment.graph, stream_) : start_all(segment);
    // If the commands fail as well, graphs are not the cause.
    if (refused != cudaSuccess && error == cudaSuccess)
        refused_because_ = cudaGetErrorString(refused);
    return error;
}

cudaError_t Graphs::start_all(const Segment& segment) const {
    const std::uint8_t* at = segment.commands.data();
    const std::uint8_t* const end = at + segment.commands.size();
    cudaError_t error = cudaSuccess;
    while (at != end && error == cudaSuccess) {
        Command command;
        std::memcpy(&command, at, sizeof command);
        at += sizeof command;
        error = start(command, at, stream_);
        if (command.threads > 0) at += command.bytes;
    }
    return error;
}

cudaError_t Graphs::capture(Segment& segment) const {
    cudaError_t error = cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal);
    if (error == cudaSuccess) {
        error = start_all(segment);
        cudaGraph_t graph = nullptr;
        // In any case: the stream captures until then.
        const cudaError_t ended = cudaStreamEndCapture(stream_, &graph);
        if (error == cudaSuccess) error = ended;
        if (error == cudaSuccess) error = cudaGraphInstantiate(&segment.graph, graph, 0);
        if (error != cudaSuccess) segment.graph = nullptr;
        if (graph != nullptr) cudaGraphDestroy(graph);
    }
    if (error != cudaSuccess) cudaGetLastError();  // or the next launch would report it
    return error;
}

void Graphs::destroy_graph(Segment& segment) const {
    if (segment.graph == nullptr) return;
    cudaStreamSynchronize(stream_);
    cudaGraphExecDestroy(segment.graph);
    segment.graph = nullptr;
}

bool Graphs::give_up(cudaError_t reason) {
    bool had_any = false;
    for (Segment& segment : segments_) {
        had_any = had_any || segment.graph != nullptr;
        destroy_graph(segment);
    }
    if (had_any) refused_because_ = cudaGetErrorString(reason);
    return had_any;
}

}  // namespace gym::kernels::cuda
