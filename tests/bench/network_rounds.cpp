#include "network_rounds.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <utility>

#include "bench_must.hpp"
#include "gym/codec/row_layout.hpp"
#include "gym/codec/sparse_code.hpp"
#include "gym/commit/codec.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/engine/delta.hpp"
#include "gym/engine/evaluate.hpp"
#include "gym/engine/outer_state.hpp"
#include "gym/engine/unit.hpp"
#include "gym/kernels/float_environment.hpp"
#include "gym/kernels/rows.h"
#include "gym/kernels/vector_ops.hpp"
#include "gym/program/codec.hpp"

namespace gym::bench {
namespace {

namespace f32 = kernels::f32;

constexpr std::uint32_t kLost = 1, kNew = 2, kLate = 3;  // purposes of chance()
/// Levels reach 6 * 2^14 grid units: four times what AdamW can move a weight in a unit, for
/// residuals.
constexpr int kGridBits = 14;

std::vector<float> floats(ByteView bytes) {
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
}
Bytes bytes_of(const std::vector<float>& values) {
    Bytes bytes(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}
class Saver {
  public:
    void add(const std::string& name, Bytes bytes) {
        const std::uint64_t size = bytes.size();
        state.tensors.push_back({name, commit::DType::kU8, {size}, std::move(bytes)});
    }
    void add(const std::string& name, const codec::Residual& residual) {
        add(name + ".levels", residual.levels);
        add(name + ".scales", residual.scales);
    }
    engine::State state;
};

class Loader {
  public:
    explicit Loader(const engine::State& state) : state_(state) {}
    [[nodiscard]] const Bytes& operator()(const std::string& name) const {
        const engine::StateTensor* const tensor = state_.find(name);
        if (tensor == nullptr) give_up("the saved run has no '" + name + "'");
        return tensor->bytes;
    }
    [[nodiscard]] codec::Residual residual(const std::string& name) const {
        return {(*this)(name + ".levels"), (*this)(name + ".scales")};
    }

  private:
    const engine::State& state_;
};

std::string name_of(const char* what, std::size_t a, std::size_t b = 0) {
    return std::string(what) + "." + std::to_string(a) + "." + std::to_string(b);
}

}  // namespace

std::string NetworkSetting::text() const {
    const std::string name = trial        ? trial->text()
                             : codec == 1 ? "1 by rows"
                                          : std::to_string(codec);
    char line[400];
    std::snprintf(
        line, sizeof line,
        "codec %s, update %s, %u slots, %u steps, seed %llu, outer %g/%g, divisor_min %g, reset "
        "%u, clip %d, held %g, churn %g",
        name.c_str(), packed_update ? "rows" : "f32", slots, steps,
        static_cast<unsigned long long>(seed), outer_rate, momentum, divisor_min, reset_rounds,
        clip ? 1 : 0, held, churn);
    const auto add = [&](const char* what, double value) {
        std::snprintf(line + std::strlen(line), sizeof line - std::strlen(line), what, value);
    };
    if (reach != 0) add(", reach %g", reach);
    if (overlap) add(", overlap %g", 1);
    if (own_delta != 0) add(", own delta %g", own_delta);
    if (look_ahead != 0) add(", look-ahead %g", look_ahead);
    if (poisoned == 0) return line;
    std::snprintf(line + std::strlen(line), sizeof line - std::strlen(line), ", %u on %s", poisoned,
                  poison.c_str());
    if (reversed_by > 0)
        std::snprintf(line + std::strlen(line), sizeof line - std::strlen(line), " by %g",
                      reversed_by);
    return line;
}

NetworkRounds::NetworkRounds(const NetworkSetting& setting, const program::TrainConfig& config,
                             const program::Program& train, const blob::Dataset& data,
                             const blob::Dataset& poison)
    : setting_(setting),
      train_(train),
      data_(data),
      poison_(poison),
      seed_(commit::sha256(as_bytes("network parity " + std::to_string(setting.seed)))),
      program_root_(program::program_root(train)),
      base_(must(engine::base_of(train, must(engine::initial_state(train, seed_))))) {
    const int reach = static_cast<int>(
        std::ceil(std::log2(config.optimizer.learning_rate * static_cast<double>(setting.steps))));
    for (std::size_t t = 0; t < base_.tensors.size(); ++t) {
        up_.push_back({base_.tensors[t].bytes.size() / sizeof(float), reach - kGridBits});
        momentum_.emplace_back(elements(t));
        bounds_.push_back(codec::kNoBound);
    }
    update_residual_ = momentum_;
    std::vector<codec::Residual> zero;
    for (const codec::TensorGrid& grid : up_)
        zero.push_back(codec::Residual::zero(grid.elements));
    residuals_.assign(setting.slots, zero);
    if (setting.trial) left_.assign(setting.slots, momentum_);
    if (!setting.overlap) return;
    before_ = base_;
    last_update_ = momentum_;
    own_.assign(setting.slots, momentum_);
}

std::int64_t NetworkRounds::shares_of(const std::vector<Sent>& deltas) {
    std::int64_t all = 0;
    for (const Sent& delta : deltas)
        all += static_cast<std::int64_t>(delta.share);
    return all;
}

std::size_t NetworkRounds::elements(std::size_t tensor) const {
    return up_[tensor].elements;
}

/// In [0, 1); of job seed, round, slot and purpose alone.
double NetworkRounds::chance(std::uint32_t slot, std::uint32_t purpose) const {
    commit::Encoder encoder;
    encoder.raw(seed_.view()).u64(round_).u32(slot).u32(purpose);
    const Digest digest = commit::sha256(encoder.view());
    std::uint32_t word = 0;
    std::memcpy(&word, digest.data.data(), sizeof word);
    return word * 0x1p-32;
}

engine::State NetworkRounds::start_of(std::uint32_t slot) const {
    if (!setting_.overlap) return base_;
    engine::State start = before_;
    const auto own = static_cast<float>(setting_.own_delta);
    const auto ahead = static_cast<float>(setting_.look_ahead);
    for (std::size_t t = 0; t < up_.size() && (own != 0 || ahead != 0); ++t) {
        std::vector<float> values = floats(start.tensors[t].bytes);
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] += own * own_[slot][t][i] + ahead * last_update_[t][i];
        start.tensors[t].bytes = bytes_of(values);
    }
    return start;
}

DeltaTensors NetworkRounds::train(std::uint32_t slot) const {
    const blob::Dataset& data = slot < setting_.poisoned ? poison_ : data_;
    const engine::State start = start_of(slot);
    const engine::UnitSpec spec{seed_, round_,        slot,        setting_.steps,
                                0,     program_root_, data.root(), engine::state_root(start)};
    const engine::UnitResult unit = must(engine::run_unit({train_, start, data, spec}));
    const engine::Delta delta = must(engine::Delta::decode(train_, unit.delta));
    DeltaTensors tensors;
    for (std::size_t t = 0; t < up_.size(); ++t) {
        tensors.emplace_back(elements(t));
        delta.read(t, 0, tensors.back());
        if (slot >= setting_.poisoned || setting_.reversed_by == 0) continue;
        for (float& element : tensors.back())
            element = f32::mul(element, static_cast<float>(-setting_.reversed_by));
    }
    return tensors;
}

/// One tensor of the slot's delta becomes what it sends; its residual becomes what is left.
void NetworkRounds::encode(std::uint32_t slot, std::size_t tensor, std::vector<float> delta,
                           Sent& sent, std::vector<std::uint64_t>& norms) {
    if (setting_.codec == 2) {
        codec::Residual& residual = residuals_[slot][tensor];
        auto encoding = codec::encode(up_[tensor], delta,
                                      setting_.clip ? bounds_[tensor] : codec::kNoBound, &residual);
        residual = std::move(*encoding.residual);
        norms.push_back(encoding.squared_norm);
        sent.tensors.push_back(std::move(encoding.code));
        sent.weights.push_back(encoding.weight);
        return;
    }
    if (setting_.trial) {
        std::vector<float>& left = left_[slot][tensor];
        for (std::size_t i = 0; i < delta.size(); ++i)
            left[i] = f32::add(left[i], delta[i]);
        delta = send(*setting_.trial, round_, left);
    }
    sent.tensors.push_back(bytes_of(delta));
    sent.weights.push_back(kernels::kClipOne);
}

std::uint64_t NetworkRounds::delta_bytes(const Sent& sent) const {
    std::uint64_t bytes = 0;
    for (const Bytes& tensor : sent.tensors)
        bytes += tensor.size();
    if (setting_.codec == 2) return bytes;
    if (!setting_.trial) return must(engine::delta_bytes(train_));
    const std::uint64_t elements = bytes / sizeof(float);
    return static_cast<std::uint64_t>(setting_.trial->bits() * static_cast<double>(elements) / 8);
}

NetworkRounds::Sent NetworkRounds::run_slot(std::uint32_t slot,
                                            std::vector<std::vector<std::uint64_t>>& norms) {
    DeltaTensors delta = train(slot);
    Sent sent;
    for (std::size_t t = 0; t < up_.size(); ++t) {
        wire_.up_parameters += delta[t].size();
        if (setting_.overlap) own_[slot][t] = delta[t];
        encode(slot, t, std::move(delta[t]), sent, norms[t]);
    }
    wire_.up += delta_bytes(sent);
    return sent;
}

void NetworkRounds::reset(std::uint32_t slot) {
    for (std::size_t t = 0; t < up_.size(); ++t) {
        residuals_[slot][t] = codec::Residual::zero(elements(t));
        if (setting_.trial) left_[slot][t].assign(elements(t), 0);
    }
}

std::vector<DeltaTensors> NetworkRounds::deltas() const {
    std::vector<DeltaTensors> all;
    for (std::uint32_t slot = 0; slot < setting_.slots; ++slot)
        all.push_back(train(slot));
    return all;
}

CodeQuality NetworkRounds::quality(const std::string& code,
                                   std::span<const DeltaTensors> deltas) const {
    const kernels::ExactFloatEnvironment environment;
    return quality_of(code, up_, deltas, round_);
}

std::vector<float> NetworkRounds::mean_of_floats(std::size_t tensor,
                                                 const std::vector<Sent>& deltas) const {
    const float shares = f32::scale2(f32::from_i64(shares_of(deltas)), -1);
    std::vector<float> mean(elements(tensor)), column(deltas.size());
    for (std::size_t i = 0; i < mean.size(); ++i) {
        for (std::size_t d = 0; d < deltas.size(); ++d) {
            std::memcpy(&column[d], deltas[d].tensors[tensor].data() + i * sizeof(float),
                        sizeof(float));
            if (deltas[d].share == codec::Share::kLate) column[d] = f32::scale2(column[d], -1);
        }
        const float total =
            kernels::exact_sum(column.data(), static_cast<std::int64_t>(column.size()));
        mean[i] = f32::div(total, shares);
    }
    return mean;
}

std::vector<float> NetworkRounds::mean_of_codes(std::size_t tensor,
                                                const std::vector<Sent>& deltas) const {
    std::vector<std::int64_t> sums(elements(tensor)), shares(elements(tensor));
    for (const Sent& delta : deltas) {
        const auto code = must(codec::SparseCode::decode(up_[tensor], delta.tensors[tensor]));
        code.add_to(sums, codec::sum_weight(delta.share, delta.weights[tensor]));
        for (std::uint64_t b = 0; b < codec::blocks_of(elements(tensor)); ++b) {
            const kernels::SparseBlock block = code.block(b);
            for (int i = 0; i < block.count; ++i)
                shares[b * codec::kBlock + block.index[i]] +=
                    static_cast<std::int64_t>(delta.share);
        }
    }
    const auto least = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(
               std::ceil(setting_.divisor_min * static_cast<double>(shares_of(deltas)))));
    std::vector<float> mean(elements(tensor));
    for (std::size_t i = 0; i < mean.size(); ++i)
        mean[i] = codec::delta_mean(sums[i], up_[tensor].exponent, std::max(shares[i], least));
    return mean;
}

/// The outer step of one tensor: the base moves by all of it, or as far as its rows say.
void NetworkRounds::move(std::size_t tensor, std::span<const float> mean) {
    const kernels::Isa isa = kernels::detect_isa();
    const kernels::OuterRates rates{1.0F, static_cast<float>(setting_.momentum),
                                    static_cast<float>(setting_.outer_rate)};
    std::vector<float> base = floats(base_.tensors[tensor].bytes);
    std::vector<float>& residual = update_residual_[tensor];
    std::vector<float>& moved = setting_.packed_update ? residual : base;
    if (setting_.reach == 0) {
        kernels::outer_step(isa, mean.data(), rates, static_cast<std::int64_t>(mean.size()),
                            moved.data(), momentum_[tensor].data());
    } else {
        const auto reach = static_cast<float>(setting_.reach);
        for (std::size_t i = 0; i < mean.size(); ++i) {
            float& m = momentum_[tensor][i];
            m = f32::fma(m, rates.momentum, mean[i]);
            moved[i] = f32::fma(f32::fma(m, reach, mean[i]), rates.rate, moved[i]);
        }
    }
    if (setting_.packed_update) {
        Bytes rows(codec::row_begin(codec::rows_of(mean.size())));
        engine::publish_rows(isa, residual, base, rows, 0);
    }
    base_.tensors[tensor].bytes = bytes_of(base);
}

/// The next units start from the base as it is now, and from what made it of the one before.
void NetworkRounds::keep_base() {
    for (std::size_t t = 0; t < up_.size(); ++t) {
        last_update_[t] = floats(base_.tensors[t].bytes);
        const std::vector<float> before = floats(before_.tensors[t].bytes);
        for (std::size_t i = 0; i < before.size(); ++i)
            last_update_[t][i] -= before[i];
    }
    before_ = base_;
}

/// Of one round: 4 a parameter, or rows as in a delta of codec 1.
std::uint64_t NetworkRounds::update_bytes() const {
    std::uint64_t rows = 1, floats = 0;
    for (std::size_t t = 0; t < up_.size(); ++t) {
        rows += codec::rows_of(elements(t));
        floats += elements(t);
    }
    return setting_.packed_update ? codec::row_begin(rows) : floats * sizeof(float);
}

void NetworkRounds::outer_step(const std::vector<Sent>& deltas) {
    if (setting_.overlap) keep_base();
    for (std::size_t t = 0; t < up_.size(); ++t) {
        move(t, setting_.codec == 2 ? mean_of_codes(t, deltas) : mean_of_floats(t, deltas));
        wire_.down_parameters += elements(t);
    }
    wire_.down += update_bytes();
}

void NetworkRounds::play_round() {
    const kernels::ExactFloatEnvironment environment;
    std::vector<std::vector<std::uint64_t>> norms(up_.size());
    std::vector<Sent> arrived = std::exchange(held_, {}), late;
    for (std::uint32_t slot = 0; slot < setting_.slots; ++slot) {
        const bool lost = chance(slot, kLost) < setting_.churn / 2;
        const bool fresh =
            lost || chance(slot, kNew) < setting_.churn / 2 ||
            (setting_.reset_rounds != 0 && (round_ + slot) % setting_.reset_rounds == 0);
        if (fresh) reset(slot);
        if (lost) continue;
        Sent sent = run_slot(slot, norms);
        if (chance(slot, kLate) < setting_.held) {
            sent.share = codec::Share::kLate;
            late.push_back(std::move(sent));
        } else {
            arrived.push_back(std::move(sent));
        }
    }
    held_ = std::move(late);
    for (std::size_t t = 0; t < up_.size(); ++t)
        bounds_[t] = codec::next_bound(std::move(norms[t]));
    if (!arrived.empty()) outer_step(arrived);
    ++round_;
}

float NetworkRounds::validation_loss(std::uint32_t windows) const {
    return must(engine::evaluate(train_, base_, data_, windows)).mean_loss;
}

engine::State NetworkRounds::save() const {
    Saver saver;
    commit::Encoder head;
    head.u64(round_)
        .u64(wire_.up)
        .u64(wire_.up_parameters)
        .u64(wire_.down)
        .u64(wire_.down_parameters);
    head.u32(static_cast<std::uint32_t>(held_.size()));
    for (const std::uint64_t bound : bounds_)
        head.u64(bound);
    for (const Sent& sent : held_)
        for (const std::int32_t weight : sent.weights)
            head.u32(static_cast<std::uint32_t>(weight));
    saver.add("head", head.take());
    for (std::size_t t = 0; t < up_.size(); ++t) {
        saver.add(name_of("base", t), base_.tensors[t].bytes);
        saver.add(name_of("momentum", t), bytes_of(momentum_[t]));
        saver.add(name_of("update", t), bytes_of(update_residual_[t]));
        if (setting_.overlap) {
            saver.add(name_of("before", t), before_.tensors[t].bytes);
            saver.add(name_of("last", t), bytes_of(last_update_[t]));
        }
        for (std::size_t slot = 0; slot < own_.size(); ++slot)
            saver.add(name_of("own", slot, t), bytes_of(own_[slot][t]));
        for (std::size_t slot = 0; slot < residuals_.size() && setting_.codec == 2; ++slot)
            saver.add(name_of("residual", slot, t), residuals_[slot][t]);
        for (std::size_t slot = 0; slot < left_.size(); ++slot)
            saver.add(name_of("left", slot, t), bytes_of(left_[slot][t]));
        for (std::size_t i = 0; i < held_.size(); ++i)
            saver.add(name_of("held", i, t), held_[i].tensors[t]);
    }
    return std::move(saver.state);
}

void NetworkRounds::restore(const engine::State& saved) {
    const Loader load(saved);
    commit::Decoder head(load("head"));
    round_ = must(head.u64());
    for (std::uint64_t* const count :
         {&wire_.up, &wire_.up_parameters, &wire_.down, &wire_.down_parameters})
        *count = must(head.u64());
    held_.assign(must(head.u32()), {});
    for (std::uint64_t& bound : bounds_)
        bound = must(head.u64());
    for (Sent& sent : held_) {
        sent.share = codec::Share::kLate;
        sent.tensors.resize(up_.size());
        for (std::size_t t = 0; t < up_.size(); ++t)
            sent.weights.push_back(static_cast<std::int32_t>(must(head.u32())));
    }
    must(head.expect_end());
    for (std::size_t t = 0; t < up_.size(); ++t) {
        base_.tensors[t].bytes = load(name_of("base", t));
        momentum_[t] = floats(load(name_of("momentum", t)));
        update_residual_[t] = floats(load(name_of("update", t)));
        if (setting_.overlap) {
            before_.tensors[t].bytes = load(name_of("before", t));
            last_update_[t] = floats(load(name_of("last", t)));
        }
        for (std::size_t slot = 0; slot < own_.size(); ++slot)
            own_[slot][t] = floats(load(name_of("own", slot, t)));
        for (std::size_t slot = 0; slot < residuals_.size() && setting_.codec == 2; ++slot)
            residuals_[slot][t] = load.residual(name_of("residual", slot, t));
        for (std::size_t slot = 0; slot < left_.size(); ++slot)
            left_[slot][t] = floats(load(name_of("left", slot, t)));
        for (std::size_t i = 0; i < held_.size(); ++i)
            held_[i].tensors[t] = load(name_of("held", i, t));
    }
}

}  // namespace gym::bench
