#include "gym/common/log.hpp"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace gym {

Status init_logging(const LogOptions& options) {
    const auto level = spdlog::level::from_str(options.level);
    if (level == spdlog::level::off && options.level != "off")
        return fail(ErrorCode::kInvalidArgument,
                    "log level '" + options.level +
                        "' is not known: use trace, debug, info, warn, error or off");
    try {
        auto logger = options.file.empty() ? spdlog::stderr_color_mt(options.program)
                                           : spdlog::basic_logger_mt(options.program, options.file);
        logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %^%-5l%$ [%n] %v");
        logger->set_level(level);
        logger->flush_on(spdlog::level::info);
        spdlog::set_default_logger(std::move(logger));
    } catch (const spdlog::spdlog_ex& error) {
        return fail(ErrorCode::kIo, std::string("cannot open the log: ") + error.what());
    }
    return {};
}

}  // namespace gym
