#include "symbols.hpp"

#include <bit>
#include <cmath>

namespace gym::torch_import {
namespace {

const void* storage_of(const Tensor& tensor) {
    return tensor.storage().unsafeGetStorageImpl();
}

/// Sizes as a slot's dims; a number is [1].
Dims exact_dims(at::IntArrayRef sizes) {
    TORCH_CHECK(sizes.size() <= program::kRankMax, "a tensor of ", sizes.size(),
                " dims; programs have at most ", program::kRankMax);
    Dims dims;
    for (const std::int64_t size : sizes)
        dims.push_back(narrow(size));
    if (dims.empty()) dims.push_back(1);
    return dims;
}

std::string legal_name(const std::string& name) {
    std::string legal;
    for (const char c : name)
        legal += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return legal;
}

/// How a fresh run begins where the model's own values are not given: constant if they are all
/// equal, else with their deviation.
program::Init init_like(const std::string& name, const Tensor& values) {
    const Tensor exact = values.to(at::kDouble);
    const double first = exact.reshape({-1})[0].item<double>();
    const bool constant = exact.eq(first).all().item<bool>();
    const double deviation = constant ? first : exact.std(/*unbiased=*/false).item<double>();
    TORCH_CHECK(std::isfinite(deviation), "parameter '", name, "' is not finite");
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(deviation));
    return {constant ? program::Init::Kind::kConstant : program::Init::Kind::kNormal, bits};
}

bool same_memory(const Tensor& a, const Tensor& b) {
    return a.data_ptr() == b.data_ptr() && a.sizes() == b.sizes() && a.strides() == b.strides();
}

}  // namespace

std::uint32_t narrow(std::int64_t value) {
    TORCH_CHECK(value >= 0 && value <= static_cast<std::int64_t>(program::kSlotElementsMax),
                "a size of ", value, "; programs have tensors of at most 2^31 elements");
    return static_cast<std::uint32_t>(value);
}

Dims slot_dims(at::IntArrayRef sizes) {
    if (sizes.size() <= 2) return exact_dims(sizes);
    std::int64_t rows = 1;  // the product of two such sizes fits
    for (const std::int64_t size : sizes.slice(0, sizes.size() - 1))
        rows = narrow(rows * std::int64_t{narrow(size)});
    return exact_dims({rows, sizes.back()});
}

Tensor Symbols::make(SlotId slot, at::IntArrayRef sizes, at::ScalarType dtype) {
    const Tensor tensor = at::empty(sizes, at::TensorOptions().dtype(dtype).device(at::kMeta));
    slots_[storage_of(tensor)] = slot;
    alive_.push_back(tensor);
    return tensor;
}

Tensor Symbols::make_scores(Scores scores) {
    const Tensor tensor =
        at::empty(scores.sizes, at::TensorOptions().dtype(at::kFloat).device(at::kMeta));
    scores_[storage_of(tensor)] = std::move(scores);
    alive_.push_back(tensor);
    return tensor;
}

const Scores* Symbols::scores_of(const Tensor& tensor) const {
    if (!is_symbolic(tensor)) return nullptr;
    const auto found = scores_.find(storage_of(tensor));
    return found == scores_.end() ? nullptr : &found->second;
}

std::int64_t Symbols::elements_of(const Tensor& tensor) const {
    return static_cast<std::int64_t>(program::element_count(builder_.slot(slot_of(tensor)).dims));
}

Tensor Symbols::input(std::size_t number, at::IntArrayRef sizes, at::ScalarType dtype) {
    const DType ours = dtype == at::kFloat ? DType::kF32 : DType::kI32;
    const SlotId slot = builder_.input("input" + std::to_string(number), ours, exact_dims(sizes));
    return make(slot, sizes, dtype);
}

Tensor Symbols::param(const std::string& name, const Tensor& value) {
    for (const auto& [known, symbol] : params_) {
        if (same_memory(known, value)) return symbol;
    }
    TORCH_CHECK(value.scalar_type() == at::kFloat, "parameter '", name, "' is ",
                value.scalar_type(), "; programs train float32: call model.float() before saving");
    const Tensor dense = value.detach().contiguous();
    const Dims dims = exact_dims(dense.sizes());
    const SlotId slot = builder_.param(legal_name(name), dims, init_like(name, dense));
    const auto* bytes = static_cast<const std::uint8_t*>(dense.data_ptr());
    weights_.push_back({legal_name(name),
                        DType::kF32,
                        {dims.begin(), dims.end()},
                        {bytes, bytes + dense.nbytes()}});
    params_.emplace_back(value, make(slot, value.sizes()));
    return params_.back().second;
}

SlotId Symbols::slot_of(const Tensor& tensor) const {
    TORCH_CHECK(scores_of(tensor) == nullptr,
                "a batched product that is not attention: see docs/TORCH.md for the "
                "accepted forms, or use torch.ops.gym.attention");
    return slots_.at(storage_of(tensor));
}

SlotId Symbols::constant(const Tensor& value) {
    TORCH_CHECK(value.numel() >= 1, "an empty constant");
    const Tensor dense = value.detach().to(at::kFloat).contiguous();
    const auto* first = dense.data_ptr<float>();
    const std::vector<float> values(first, first + dense.numel());
    if (values.size() == 1) return builder_.scalar(values.front());
    return builder_.constant("constant" + std::to_string(constants_++), slot_dims(dense.sizes()),
                             values);
}

/// Whole rows of a matrix are looked up, which has a gradient.
SlotId Symbols::some_rows(SlotId slot, const Tensor& tensor) {
    const Dims own = builder_.slot(slot).dims;
    const std::int64_t columns = tensor.dim() == 0 ? 0 : tensor.size(-1);
    const bool fits = tensor.scalar_type() == at::kFloat && own.size() == 2 && columns > 1 &&
                      own[1] == static_cast<std::uint64_t>(columns) && tensor.stride(-1) == 1 &&
                      tensor.storage_offset() % columns == 0 &&
                      tensor.numel() != static_cast<std::int64_t>(program::element_count(own));
    if (!fits) return program::kNoSlot;
    for (std::int64_t i = 0; i + 1 < tensor.dim(); ++i)
        if (tensor.stride(i) % columns != 0) return program::kNoSlot;
    const std::int64_t rows = tensor.numel() / columns;
    // The places that libtorch itself finds through a view like this one.
    const Tensor numbers = at::arange(static_cast<std::int64_t>(own[0]), at::kInt);
    std::vector<std::int64_t> sizes = tensor.sizes().vec(), strides = tensor.strides().vec();
    sizes.pop_back();
    strides.pop_back();
    for (std::int64_t& stride : strides)
        stride /= columns;
    const Tensor places =
        numbers.as_strided(sizes, strides, tensor.storage_offset() / columns).contiguous();
    const auto* first = places.data_ptr<std::int32_t>();
    const SlotId indices = builder_.indices("rows" + std::to_string(constants_++), {narrow(rows)},
                                            std::vector<std::int32_t>(first, first + rows));
    return builder_.gather_rows(slot, indices);
}

SlotId Symbols::dense(const Tensor& tensor) {
    if (!is_symbolic(tensor)) {
        TORCH_CHECK(tensor.is_floating_point(), "a constant of ", tensor.scalar_type(),
                    " as an operand; programs have float32 constants");
        return constant(tensor);
    }
    const SlotId slot = slot_of(tensor);
    const bool whole = tensor.is_contiguous() && tensor.storage_offset() == 0 &&
                       static_cast<std::uint64_t>(tensor.numel()) ==
                           program::element_count(builder_.slot(slot).dims);
    if (whole) return shaped(tensor, slot_dims(tensor.sizes()));
    const SlotId rows_of_it = some_rows(slot, tensor);
    if (rows_of_it != program::kNoSlot)
        return shaped(make(rows_of_it, tensor.sizes()), slot_dims(tensor.sizes()));
    const Dims dims = exact_dims(tensor.sizes());
    std::vector<std::uint64_t> strides(tensor.strides().begin(), tensor.strides().end());
    if (strides.empty()) strides.push_back(1);
    const SlotId copy = builder_.strided_copy(
        slot, dims, static_cast<std::uint64_t>(tensor.storage_offset()), strides);
    const Dims rows = slot_dims(tensor.sizes());
    return rows == dims ? copy : shaped(make(copy, tensor.sizes(), tensor.scalar_type()), rows);
}

SlotId Symbols::dense_f32(const char* what, const Tensor& tensor) {
    TORCH_CHECK(!is_symbolic(tensor) || tensor.scalar_type() == at::kFloat, what, " is ",
                tensor.scalar_type(), "; programs compute with float32");
    return dense(tensor);
}

SlotId Symbols::shaped(const Tensor& tensor, const Dims& dims) {
    const bool whole = is_symbolic(tensor) && tensor.is_contiguous() &&
                       tensor.storage_offset() == 0 &&
                       static_cast<std::uint64_t>(tensor.numel()) ==
                           program::element_count(builder_.slot(slot_of(tensor)).dims);
    const SlotId slot = whole ? slot_of(tensor) : dense(tensor);
    if (builder_.slot(slot).dims == dims) return slot;
    std::vector<std::uint64_t> strides(dims.size(), 1);
    for (std::size_t i = dims.size() - 1; i-- > 0;)
        strides[i] = strides[i + 1] * dims[i + 1];
    return builder_.strided_copy(slot, dims, 0, strides);
}

SlotId Symbols::stored_transposed(const Tensor& tensor) {
    if (!is_symbolic(tensor) || tensor.dim() != 2) return program::kNoSlot;
    const Tensor back = tensor.t();
    if (!back.is_contiguous() || back.storage_offset() != 0) return program::kNoSlot;
    const SlotId slot = slot_of(tensor);
    return builder_.slot(slot).dims == exact_dims(back.sizes()) ? slot : program::kNoSlot;
}

void Symbols::rebind(const Tensor& tensor, const Tensor& result) {
    TORCH_CHECK(tensor.is_contiguous() && tensor.storage_offset() == 0 &&
                    tensor.nbytes() == tensor.storage().nbytes(),
                "a part of a tensor is changed in place");
    if (const Scores* scores = scores_of(result)) {
        scores_[storage_of(tensor)] = Scores(*scores);
        return;
    }
    slots_[storage_of(tensor)] = dense(result);
    scores_.erase(storage_of(tensor));
}

}  // namespace gym::torch_import
