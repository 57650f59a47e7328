#include "data/measure_run.hpp"

namespace gym::app {

MeasureRun::MeasureRun(const engine::EngineOptions& engine) {
    options_.engine = engine;
    options_.cancel = stop_.get_token();
    options_.progress = [this](std::string_view what, const engine::UnitProgress& at) {
        show(what, at);
        if (interrupt_.interrupted()) stop_.request_stop();
    };
}

void MeasureRun::show(std::string_view what, const engine::UnitProgress& at) {
    if (!bar_ || what != label_) {
        label_ = what;
        bar_ = std::make_unique<TrainingProgress>(label_);
    }
    bar_->show(at);
}

}  // namespace gym::app
