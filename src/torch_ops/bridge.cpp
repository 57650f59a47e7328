#include "bridge.hpp"

#include <ATen/Parallel.h>
#include <pthread.h>

#include <bit>
#include <memory>
#include <mutex>
#include <optional>

#include "gym/engine/op_runner.hpp"

namespace gym::torch_ops {
namespace {

/// The process's one runner: its threads are started once, and again when the number changes.
class SharedRunner {
  public:
    static SharedRunner& instance() {
        static SharedRunner runner;
        return runner;
    }
    Status run(Opcode code, std::span<const std::uint64_t> attributes,
               std::span<const engine::OpInput> inputs, std::span<const engine::OpOutput> outputs) {
        const std::lock_guard lock(mutex_);
        const auto threads = static_cast<unsigned>(at::get_num_threads());
        if (runner_ == nullptr || threads != threads_) {
            runner_.reset();
            engine::EngineOptions options;
            options.threads = threads;
            GYM_TRY(auto runner, engine::OpRunner::create(options));
            runner_ = std::make_unique<engine::OpRunner>(std::move(runner));
            threads_ = threads;
        }
        return runner_->run(code, attributes, inputs, outputs);
    }

  private:
    // A forked process (a DataLoader's worker) has this memory, but none of the runner's threads:
    // it starts its own, and what it cannot join it leaves alone.
    SharedRunner() {
        ::pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                         [] {
                             (void)instance().runner_.release();
                             instance().mutex_.unlock();
                         });
    }

    std::mutex mutex_;
    std::unique_ptr<engine::OpRunner> runner_;
    unsigned threads_ = 0;
};

std::optional<program::DType> dtype_of(const Tensor& tensor) {
    switch (tensor.scalar_type()) {
        case at::kFloat:
            return program::DType::kF32;
        case at::kInt:
            return program::DType::kI32;
        default:
            return std::nullopt;
    }
}

program::Dims dims_of(const Tensor& tensor) {
    program::Dims dims;
    for (const std::int64_t dim : tensor.sizes())
        dims.push_back(static_cast<std::uint32_t>(dim));
    if (dims.empty()) dims.push_back(1);
    return dims;
}

template <class Operand>
Operand operand(const Tensor& tensor) {
    const auto dtype = dtype_of(tensor);
    TORCH_INTERNAL_ASSERT(dtype.has_value() && tensor.is_contiguous());
    return {*dtype, dims_of(tensor), tensor.data_ptr()};
}

void require_memory(const char* op, const char* name, const Tensor& tensor) {
    TORCH_CHECK(tensor.defined(), "gym::", op, ": ", name, " is not a tensor");
    TORCH_CHECK(tensor.device().is_cpu() && tensor.layout() == at::kStrided, "gym::", op, ": ",
                name, " must be a dense CPU tensor, not ", tensor.layout(), " on ", tensor.device(),
                "; move it with .cpu()");
    TORCH_CHECK(tensor.numel() >= 1, "gym::", op, ": ", name, " ", tensor.sizes(),
                " has no elements");
    for (const std::int64_t dim : tensor.sizes())
        TORCH_CHECK(dim <= std::int64_t{program::kSlotElementsMax}, "gym::", op, ": ", name, " ",
                    tensor.sizes(), " is too large");
}

}  // namespace

void require_f32(const char* op, const char* name, const Tensor& tensor) {
    require_memory(op, name, tensor);
    TORCH_CHECK(tensor.scalar_type() == at::kFloat, "gym::", op, ": ", name,
                " must be float32, not ", tensor.scalar_type(),
                "; exact ops exist for float32 alone, convert with .float()");
    TORCH_CHECK(tensor.is_contiguous(), "gym::", op, ": ", name, " ", tensor.sizes(),
                " with strides ", tensor.strides(), " is not contiguous; pass .contiguous()");
    TORCH_CHECK(tensor.dim() <= std::int64_t{program::kRankMax}, "gym::", op, ": ", name, " has ",
                tensor.dim(), " dims, at most ", program::kRankMax, " are allowed; reshape it");
}

Tensor indices_i32(const char* op, const char* name, const Tensor& indices, std::int64_t bound) {
    require_memory(op, name, indices);
    TORCH_CHECK(indices.scalar_type() == at::kLong || indices.scalar_type() == at::kInt,
                "gym::", op, ": ", name, " must be int64 or int32, not ", indices.scalar_type());
    const std::int64_t low = indices.min().item<std::int64_t>();
    const std::int64_t high = indices.max().item<std::int64_t>();
    TORCH_CHECK_INDEX(low >= 0 && high < bound, "gym::", op, ": ", name, " has ",
                      low < 0 ? low : high, ", allowed are 0 to ", bound - 1);
    return indices.to(at::kInt).contiguous();
}

Tensor empty_f32(at::IntArrayRef dims) {
    return at::empty(dims, at::TensorOptions().dtype(at::kFloat));
}

Tensor scalar_f32(float value) {
    return at::full({1}, value, at::TensorOptions().dtype(at::kFloat));
}

Tensor as_rows(const Tensor& tensor) {
    return tensor.dim() == 0 ? tensor.view({1, 1}) : tensor.view({-1, tensor.size(-1)});
}

Tensor incoming(const char* op, const Tensor& gradient) {
    TORCH_CHECK(!at::GradMode::is_enabled(), "gym::", op,
                ": second derivatives do not exist; call backward() without create_graph");
    return gradient.contiguous();
}

std::uint64_t f32_attribute(float value) {
    return std::bit_cast<std::uint32_t>(value);
}

void run(const char* op, Opcode code, std::initializer_list<Tensor> inputs,
         std::initializer_list<Tensor> outputs, std::span<const std::uint64_t> attributes) {
    std::vector<engine::OpInput> in;
    for (const Tensor& tensor : inputs)
        in.push_back(operand<engine::OpInput>(tensor));
    std::vector<engine::OpOutput> out;
    for (const Tensor& tensor : outputs)
        out.push_back(operand<engine::OpOutput>(tensor));
    const Status status = SharedRunner::instance().run(code, attributes, in, out);
    if (!status.ok()) TORCH_CHECK(false, "gym::", op, ": ", status.error().message);
}

}  // namespace gym::torch_ops
