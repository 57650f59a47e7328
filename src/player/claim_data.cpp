#include <algorithm>
#include <variant>

#include "gym/game/transcript.hpp"
#include "gym/player/player.hpp"

namespace gym::player {
namespace {

class ClaimData final : public DataSource {
  public:
    ClaimData(const ClaimStore& claims, UnitSource& units) : claims_(claims), units_(units) {}

    Result<game::move::ShowWithheld> show(const game::WithheldEvidence& asked,
                                          const game::DataRequest& request) override {
        const auto claims = claims_.list();
        const auto found = std::ranges::find_if(claims, [&](const ClaimStore::Shared& claim) {
            return claim->role == Role::kDefend && claim->subject == Subject::kTrainUnit &&
                   asked.commitment && claim->evidence.commitment == *asked.commitment;
        });
        if (found == claims.end())
            return fail(ErrorCode::kNotFound, "this node defends no unit with such a delta");
        GYM_TRY(game::Strategy* const own, units_.open(**found));
        const game::UnitFacts facts(request);
        const game::GameTranscript transcript(facts, game::start_of(Digest(), facts));
        GYM_TRY(game::Move move, own->answer(transcript));
        auto* shown = std::get_if<game::move::ShowWithheld>(&move);
        if (shown == nullptr) return fail(ErrorCode::kInternal, "a request has another answer");
        return std::move(*shown);
    }

  private:
    const ClaimStore& claims_;
    UnitSource& units_;
};

}  // namespace

std::unique_ptr<DataSource> make_claim_data(const ClaimStore& claims, UnitSource& units) {
    return std::make_unique<ClaimData>(claims, units);
}

}  // namespace gym::player
