// Rounds of a network in one process: N slots train on the exact engine, their deltas go through
// the real codec, the outer step works on exact sums, and the update goes down as it does in a
// network.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "code_quality.hpp"
#include "gym/blob/dataset.hpp"
#include "gym/codec/encode.hpp"
#include "gym/codec/sum.hpp"
#include "gym/engine/state.hpp"
#include "gym/program/train_program.hpp"
#include "trial_code.hpp"

namespace gym::bench {

/// What is simulated. Every field but `rounds` changes the losses.
struct NetworkSetting {
    int codec = 0;                   ///< 0: f32, 1: rows of 4 bits, 2: sparse codes
    std::optional<TrialCode> trial;  ///< of codec 0: sent instead, with a residual in f32
    bool packed_update = false;      ///< the update goes down in rows, with a residual in f32
    std::uint32_t slots = 8;
    std::uint32_t rounds = 40;
    std::uint32_t steps = 25;  ///< inner steps of a unit
    std::uint64_t seed = 1;
    double outer_rate = 0.7;
    double momentum = 0.9;
    /// The base moves by rate * (reach * momentum + mean): that of Nesterov's is the momentum's own
    /// factor, which 0 stands for. Jobs have no other.
    double reach = 0;
    /// A coordinate's sum is divided by the shares of those who sent it, but at least by this share
    /// of all: 1 is the mean over all, 0 the mean over senders.
    double divisor_min = 1;
    std::uint32_t reset_rounds = 8;  ///< 0: residuals of deltas are never reset
    bool clip = true;                ///< of codec 2: to the last round's median norm
    double held = 0;                 ///< share of deltas that enter one round later at half weight
    double churn = 0;                ///< share of slots that are lost or new in a round, half each
    /// Units start from the base state of the round before theirs, because deltas travel and are
    /// aggregated while the next round computes. They go into the newest base at full weight.
    bool overlap = false;
    /// Of overlap: a slot adds so much of the delta that it sent last, which the base that it
    /// starts from lacks. No network does this: such a unit starts from what only its worker has.
    double own_delta = 0;
    /// Of overlap: a unit starts so many times the last update beyond its base.
    double look_ahead = 0;

    std::uint32_t poisoned = 0;  ///< so many of the slots train on other data, always the same ones
    std::string poison;          ///< its name
    /// Above 0 they train on the right data and send their delta times so much, against the others.
    double reversed_by = 0;

    [[nodiscard]] std::string text() const;  ///< one line; another run of it gives the same losses
};

/// Bytes on the wire, of all rounds so far.
struct WireBytes {
    std::uint64_t up = 0, up_parameters = 0, down = 0, down_parameters = 0;
};

class NetworkRounds {
  public:
    /// Borrows program and data; the program compresses if the setting's codec is 1.
    /// @param poison what the poisoned slots train on.
    NetworkRounds(const NetworkSetting& setting, const program::TrainConfig& config,
                  const program::Program& train, const blob::Dataset& data,
                  const blob::Dataset& poison);

    void play_round();
    [[nodiscard]] float validation_loss(std::uint32_t windows) const;
    [[nodiscard]] std::uint64_t round() const { return round_; }
    [[nodiscard]] const WireBytes& wire() const { return wire_; }

    /// How well a code keeps the deltas of the round to come, which is not played.
    /// @param deltas deltas().
    [[nodiscard]] CodeQuality quality(const std::string& code,
                                      std::span<const DeltaTensors> deltas) const;
    /// Of every slot.
    [[nodiscard]] std::vector<DeltaTensors> deltas() const;

    /// Everything that the next round depends on.
    [[nodiscard]] engine::State save() const;
    void restore(const engine::State& saved);

  private:
    /// A slot's delta on its way: f32 elements or, in codec 2, a code for each tensor, and what it
    /// counts there.
    struct Sent {
        std::vector<Bytes> tensors;
        std::vector<std::int32_t> weights;
        codec::Share share = codec::Share::kFull;
    };
    [[nodiscard]] DeltaTensors train(std::uint32_t slot) const;
    /// What a slot's unit starts from.
    [[nodiscard]] engine::State start_of(std::uint32_t slot) const;
    [[nodiscard]] Sent run_slot(std::uint32_t slot, std::vector<std::vector<std::uint64_t>>& norms);
    void encode(std::uint32_t slot, std::size_t tensor, std::vector<float> delta, Sent& sent,
                std::vector<std::uint64_t>& norms);
    /// What a slot's delta is on the wire.
    [[nodiscard]] std::uint64_t delta_bytes(const Sent& sent) const;
    void reset(std::uint32_t slot);
    [[nodiscard]] static std::int64_t shares_of(const std::vector<Sent>& deltas);
    /// The mean of a tensor's deltas, element by element: of f32 elements, and of codes.
    [[nodiscard]] std::vector<float> mean_of_floats(std::size_t tensor,
                                                    const std::vector<Sent>& deltas) const;
    [[nodiscard]] std::vector<float> mean_of_codes(std::size_t tensor,
                                                   const std::vector<Sent>& deltas) const;
    void outer_step(const std::vector<Sent>& deltas);
    void keep_base();
    void move(std::size_t tensor, std::span<const float> mean);
    [[nodiscard]] std::uint64_t update_bytes() const;
    [[nodiscard]] std::size_t elements(std::size_t tensor) const;
    [[nodiscard]] double chance(std::uint32_t slot, std::uint32_t purpose) const;

    NetworkSetting setting_;
    const program::Program& train_;
    const blob::Dataset& data_;
    const blob::Dataset& poison_;
    Digest seed_, program_root_;
    std::uint64_t round_ = 0;
    engine::State base_;
    engine::State before_;  ///< of overlap: the base before the last outer step
    std::vector<std::vector<float>>
        last_update_;                    ///< of look-ahead: what made `before_`, by tensor
    std::vector<DeltaTensors> own_;      ///< of own_delta: by slot, what it sent last
    std::vector<codec::TensorGrid> up_;  ///< grids of deltas
    std::vector<std::vector<float>> momentum_, update_residual_;  ///< by tensor
    std::vector<std::vector<codec::Residual>> residuals_;         ///< slot, tensor
    std::vector<std::vector<std::vector<float>>> left_;  ///< residuals of a trial: slot, tensor
    std::vector<std::uint64_t> bounds_;
    std::vector<Sent> held_;
    WireBytes wire_;
};

}  // namespace gym::bench
