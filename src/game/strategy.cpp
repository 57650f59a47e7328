#include "gym/game/strategy.hpp"

namespace gym::game {
namespace {

template <class Work>
class WorkStrategy final : public Strategy {
  public:
    explicit WorkStrategy(Work& own) : own_(own) {}
    Result<Move> answer(const GameTranscript& transcript) override {
        return plan_answer(own_, transcript);
    }
    Result<Move> challenge(const GameTranscript& transcript) override {
        return plan_challenge(own_, transcript);
    }

  private:
    Work& own_;
};

}  // namespace

std::unique_ptr<Strategy> strategy_of(UnitWork& own) {
    return std::make_unique<WorkStrategy<UnitWork>>(own);
}
std::unique_ptr<Strategy> strategy_of(OuterWork& own) {
    return std::make_unique<WorkStrategy<OuterWork>>(own);
}

}  // namespace gym::game
