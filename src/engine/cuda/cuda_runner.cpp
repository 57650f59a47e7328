#include <cstdio>

#include "gym/engine/cuda_engine.hpp"
#include "runner.hpp"

namespace gym::engine {
namespace {

/// The state lives on the device; the host's copy is brought up to date when it is read.
class CudaRunner final : public Runner {
  public:
    CudaRunner(CudaEngine engine, State state)
        : engine_(std::move(engine)), state_(std::move(state)) {}

    Status run(std::span<const NamedTensorView> inputs) override {
        host_is_current_ = false;
        return engine_.run(inputs);
    }
    Result<Bytes> output(std::string_view name) override { return engine_.output(name); }
    Result<std::vector<Digest>> output_roots(std::span<const std::string_view> names) override {
        return engine_.output_roots(names);
    }
    Result<Digest> state_root() override { return engine_.state_root(); }
    Result<const State*> state() override {
        if (!host_is_current_) GYM_CHECK(engine_.store(state_));
        host_is_current_ = true;
        return &state_;
    }
    Result<State> take_state() override {
        GYM_CHECK(state());
        return std::move(state_);
    }
    void set_trace(std::function<void(const TraceEntry&)> sink) override {
        engine_.set_trace(std::move(sink));
    }

  private:
    CudaEngine engine_;
    State state_;
    bool host_is_current_ = true;
};

/// A daemon's log is its standard error.
void print_notice(const std::string& line) {
    std::fprintf(stderr, "%s\n", line.c_str());
}

}  // namespace

Result<std::unique_ptr<Runner>> make_cuda_runner(const program::Program& program, State state,
                                                 int device, std::uint64_t memory_bytes_max) {
    GYM_TRY(CudaEngine engine, CudaEngine::create(program, {.device = device,
                                                            .memory_bytes_max = memory_bytes_max,
                                                            .notice = print_notice}));
    GYM_CHECK(engine.load(state));
    return std::unique_ptr<Runner>(new CudaRunner(std::move(engine), std::move(state)));
}

}  // namespace gym::engine
