#pragma once

#include <map>
#include <optional>

#include "gym/commit/tensor_root.hpp"
#include "players.hpp"
#include "posted_tree.hpp"

/// Workers that commit to and post what no run gives.
namespace gym::game::testing {

/// The tensor with `size` bytes from `first` on changed.
inline dispute::TracedTensor changed(const dispute::TracedTensor& tensor, std::uint64_t first,
                                     std::uint64_t size) {
    Bytes bytes(tensor.bytes().begin(), tensor.bytes().end());
    for (std::uint64_t i = first; i < first + size && i < bytes.size(); ++i)
        bytes[i] = static_cast<std::uint8_t>(~bytes[i]);
    auto memory = must(dispute::TensorMemory::copy(bytes, {}));
    return {tensor.shape, std::make_shared<const dispute::TensorMemory>(std::move(memory)),
            commit::chunk_leaves(bytes)};
}

/// Answers with the honest run's data where nothing else was put in its place.
class Liar final : public WorkOf {
  public:
    explicit Liar(UnitWork& honest) : WorkOf(honest) {}

    std::optional<dispute::UnitStates> unit;
    std::map<std::uint32_t, dispute::StepTrace> steps;
    std::map<std::uint32_t, dispute::TracedTensor> token_windows;
    std::optional<dispute::TracedTensor> whole_delta;
    std::optional<std::vector<Digest>> outputs;    ///< of the primitives of whichever op is opened
    std::optional<dispute::TensorTrace> output;    ///< of whichever primitive is opened
    std::map<Stage, std::vector<Digest>> answers;  ///< leaves of the trees at other stages

    /// A copy of the honest run's data, to be changed.
    dispute::UnitStates& lie_about_unit() {
        if (!unit) unit = *must(work_.states());
        return *unit;
    }
    dispute::StepTrace& lie_about(std::uint32_t step) {
        return steps.try_emplace(step, *must(work_.step(step))).first->second;
    }
    /// Changes the record of a step where it is committed to and where it is opened.
    template <class Change>
    void lie_in_record(std::uint32_t step, Change change) {
        change(lie_about_unit().records[step]);
        change(lie_about(step).record);
    }

    Result<const dispute::UnitStates*> states() override {
        if (!unit) return work_.states();
        return &*unit;
    }
    Result<const dispute::StepTrace*> step(std::uint32_t step) override {
        const auto found = steps.find(step);
        if (found == steps.end()) return work_.step(step);
        return &found->second;
    }
    Result<const std::vector<Digest>*> primitives(std::uint32_t step, std::uint32_t leaf) override {
        if (!outputs) return work_.primitives(step, leaf);
        return &*outputs;
    }
    Result<const dispute::TensorTrace*> tensor(std::uint32_t step, std::uint32_t leaf,
                                               std::uint32_t primitive) override {
        if (!output) return work_.tensor(step, leaf, primitive);
        return &*output;
    }
    Result<const dispute::TracedTensor*> windows(std::uint32_t step) override {
        const auto found = token_windows.find(step);
        if (found == token_windows.end()) return work_.windows(step);
        return &found->second;
    }
    Result<const dispute::TracedTensor*> delta() override {
        if (!whole_delta) return work_.delta();
        return &*whole_delta;
    }

    Player player() {
        return [this](const GameTranscript& transcript) -> Result<Move> {
            const auto found = answers.find(transcript.at().stage);
            if (found == answers.end()) return plan_answer(*this, transcript);
            return Move(move::Answer{answer_to(commit::MerkleTree(found->second),
                                               {transcript.at().height, transcript.at().index},
                                               kAnswerLevelsMax)});
        };
    }
};

}  // namespace gym::game::testing
