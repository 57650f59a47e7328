#include "model_writer.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace gym::program {

SlotId ModelWriter::param(const std::string& name, const Dims& dims, Init init, ParamGroup group) {
    const SlotId slot =
        pass_.params.empty() ? b.param(name, dims, init) : pass_.params[params_.size()].slot;
    params_.push_back({slot, name, group});
    return slot;
}

SlotId ModelWriter::weight(const std::string& name, const Dims& dims, double scale,
                           ParamGroup group) {
    const auto deviation = static_cast<float>(config.init_std * scale);
    return param(name, dims, {Init::Kind::kNormal, std::bit_cast<std::uint32_t>(deviation)}, group);
}

SlotId ModelWriter::vector(const std::string& name, std::uint32_t size, float value,
                           ParamGroup group) {
    return param(name, {size}, {Init::Kind::kConstant, std::bit_cast<std::uint32_t>(value)}, group);
}

SlotId ModelWriter::linear(SlotId x, const std::string& name, const Dims& dims, bool bias,
                           double scale) {
    const SlotId y = b.matmul(x, weight(name + ".weight", dims, scale));
    if (!bias) return y;
    return b.add(y, vector(name + ".bias", dims[0], 0.0F, ParamGroup::kBias));
}

SlotId ModelWriter::layernorm(SlotId x, const std::string& name) {
    const SlotId gamma = vector(name + ".gamma", config.width, 1.0F, ParamGroup::kNorm);
    const SlotId beta = vector(name + ".beta", config.width, 0.0F, ParamGroup::kNorm);
    return b.layernorm(x, gamma, beta, static_cast<float>(config.layernorm_epsilon));
}

SlotId ModelWriter::random_mask(const Dims& dims, double rate, float value) {
    if (pass_.random == kNoSlot) return kNoSlot;
    const auto threshold = static_cast<std::uint64_t>(rate * 0x1p32);
    const SlotId mask = b.temp(DType::kF32, dims);
    b.append({Opcode::kRandomMask,
              {pass_.random},
              {mask},
              {kRandomOpDropoutFirst + pass_.dropouts_before++, threshold,
               std::bit_cast<std::uint32_t>(value)}});
    return mask;
}

SlotId ModelWriter::dropout(SlotId x) {
    if (pass_.random == kNoSlot || config.dropout == 0) return x;
    const auto kept = static_cast<float>(1.0 / (1.0 - config.dropout));
    const Dims dims = b.slot(x).dims;
    return b.mul(x, random_mask(dims, config.dropout, kept));
}

SlotId ModelWriter::rows_of_token(const std::string& name, std::uint32_t token, SlotId tokens) {
    const SlotId table = once(name, [&] {
        std::vector<float> values(config.vocabulary, 0.0F);
        values[token] = 1.0F;
        return b.constant(name, {config.vocabulary, 1}, values);
    });
    return b.gather_rows(table, tokens);
}

SlotId ModelWriter::once(const std::string& name, const std::function<SlotId()>& make) {
    const auto found = std::ranges::find(b.slots(), name, &Slot::name);
    return found == b.slots().end() ? make() : static_cast<SlotId>(found - b.slots().begin());
}

double ModelWriter::residual_scale() const {
    return 1.0 / std::sqrt(2.0 * config.layers);
}

}  // namespace gym::program
