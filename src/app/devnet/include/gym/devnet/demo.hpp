#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "gym/common/result.hpp"
#include "gym/devnet/network.hpp"
#include "gym/devnet/report.hpp"

namespace gym::devnet {

/// Highest final loss of the model of examples/demo-job.yaml on any English text, in nats per
/// token.
inline constexpr double kDemoJobLossMax = 2.55;

struct DemoOptions {
    NetworkOptions network;
    std::filesystem::path text;                        ///< what the model is trained on
    std::string licence = "LicenseRef-public-domain";  ///< of the text, an SPDX expression
    std::filesystem::path job_file;                    ///< examples/demo-job.yaml
    std::filesystem::path model_folder;                ///< of the exported model; empty: none
    std::filesystem::path examples;                    ///< with the scripts that compare logits
    std::uint32_t timeout_s = 900;  ///< for each thing that is waited for, without progress
    Expectations expected;
};

/// That text and job file can be read and used, before anything is started.
/// @errors kNotFound, kIo, kInvalidArgument naming the flag and the file.
Status check_inputs(const DemoOptions& options);

/// The whole main job: network, deposit, dataset, job, training with one cheat, settlement, claims.
/// The network is left running. @errors of every part; kTimeout, kCancelled.
Result<Report> run_demo(const DemoOptions& options, const Announce& announce);

}  // namespace gym::devnet
