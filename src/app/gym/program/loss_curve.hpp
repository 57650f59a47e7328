#pragma once

#include <filesystem>
#include <string>

#include "gym/common/result.hpp"
#include "gym/engine/saved_run.hpp"

namespace gym::app {

/// That there is a gnuplot, before a run whose losses are to be drawn. @errors kNotFound, saying
/// how to install it.
[[nodiscard]] Status check_gnuplot();

/// Draws the losses of a run over its steps as an SVG file, with gnuplot. Losses that are not
/// finite are left out. @errors those of check_gnuplot();
/// kInvalidArgument for a run without steps; kIo.
[[nodiscard]] Status draw_loss_curve(const engine::SavedRun& run, const std::string& title,
                                     const std::filesystem::path& svg);

}  // namespace gym::app
