#pragma once

#include <filesystem>
#include <string>

#include "gym/common/result.hpp"
#include "gym/engine/saved_run.hpp"

namespace gym::app {

/// Draws the losses of a run over its steps as an SVG file, with gnuplot. Losses that are not
/// finite are left out. @errors kNotFound without gnuplot, saying how to install it;
/// kInvalidArgument for a run without steps; kIo.
[[nodiscard]] Status draw_loss_curve(const engine::SavedRun& run, const std::string& title,
                                     const std::filesystem::path& svg);

}  // namespace gym::app
