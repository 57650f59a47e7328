#include "runner.hpp"

#include "gym/commit/tensor_root.hpp"
#include "gym/engine/device.hpp"
#include "state_of_program.hpp"

namespace gym::engine {
namespace {

class CpuRunner final : public Runner {
  public:
    CpuRunner(const program::Program& program, Engine engine, State state, unsigned threads)
        : program_(program),
          engine_(std::move(engine)),
          state_(std::move(state)),
          threads_(threads) {}

    Status run(std::span<const NamedTensorView> inputs) override {
        return engine_.run(state_, inputs);
    }
    Result<Bytes> output(std::string_view name) override {
        GYM_TRY(const ByteView bytes, engine_.output(name));
        return Bytes(bytes.begin(), bytes.end());
    }
    Result<std::vector<Digest>> output_roots(std::span<const std::string_view> names) override {
        std::vector<std::vector<std::uint64_t>> dims;
        dims.reserve(names.size());  // the views below keep pointing into it
        std::vector<commit::TensorView> tensors;
        for (const std::string_view name : names) {
            GYM_TRY(const ByteView bytes, engine_.output(name));
            const auto& slot = program_.slot(program_.find_output(name));
            dims.emplace_back(slot.dims.begin(), slot.dims.end());
            tensors.push_back({slot.dtype, dims.back(), bytes});
        }
        return commit::tensor_roots(tensors, threads_);
    }
    Result<Digest> state_root() override { return engine::state_root(state_, threads_); }
    Result<const State*> state() override { return &state_; }
    Result<State> take_state() override { return std::move(state_); }
    void set_trace(std::function<void(const TraceEntry&)> sink) override {
        engine_.set_trace(std::move(sink));
    }

  private:
    program::Program program_;
    Engine engine_;
    State state_;
    unsigned threads_;
};

Result<std::unique_ptr<Runner>> make_cpu_runner(const program::Program& program, State state,
                                                const EngineOptions& options) {
    GYM_TRY(Engine engine, Engine::create(program, options));
    const Status fits = check_state(program, state_slots(program), state);
    if (!fits.ok()) return fits.error();
    return std::unique_ptr<Runner>(
        new CpuRunner(program, std::move(engine), std::move(state), options.threads));
}

}  // namespace

Result<std::unique_ptr<Runner>> make_runner(const program::Program& program, State state,
                                            const EngineOptions& options) {
    GYM_TRY(const DeviceChoice device, parse_device(options.device));
    if (!device.cuda) return make_cpu_runner(program, std::move(state), options);
#ifdef GYM_WITH_CUDA
    return make_cuda_runner(program, std::move(state), device.index, options.memory_bytes_max);
#else
    return device_model(options.device).error();
#endif
}

}  // namespace gym::engine
