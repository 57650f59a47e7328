#include "data/dataset_print.hpp"

#include "cli/answer_text.hpp"
#include "cli/rows.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kPpmPerPercent = 10'000;

std::string share(const json::object& object, const char* key) {
    return percent(object.at(key).to_number<std::uint64_t>());
}

/// Where the number comes from.
std::string usefulness_from(const json::value& measurement) {
    if (!measurement.is_object()) return "the network's default";
    return "measured by evaluation " + text_of(measurement.get_object(), "evaluation");
}

}  // namespace

std::string percent(std::uint64_t ppm) {
    std::string fraction = std::to_string(kPpmPerPercent + ppm % kPpmPerPercent).substr(1);
    while (!fraction.empty() && fraction.back() == '0')
        fraction.pop_back();
    return std::to_string(ppm / kPpmPerPercent) + (fraction.empty() ? "" : "." + fraction) + " %";
}

void print_dataset(const json::object& dataset) {
    print_row("dataset root", "{}", text_of(dataset, "root"));
    print_row("name", "{}", text_of(dataset, "name"));
    print_row("owner", "{}", text_of(dataset, "owner"));
    print_row("licence", "{}", text_of(dataset, "licence"));
    print_row("tokens", "{}, of a vocabulary of {}", text_of(dataset, "tokens"),
              text_of(dataset, "vocabulary"));
    print_row("price", "{} tokens per million tokens of text, times the quality",
              tokens_of(dataset.at("price_wei_per_mtoken")));
    print_row("novelty", "{}", share(dataset, "novelty_ppm"));
    print_row("usefulness", "{}, {}", share(dataset, "usefulness_ppm"),
              usefulness_from(dataset.at("measurement")));
    print_row("quality", "{}", share(dataset, "quality_ppm"));
    if (const json::value& nearest = dataset.at("nearest"); nearest.is_object())
        print_row("nearest", "{}: shares {} of the text", text_of(nearest.as_object(), "root"),
                  share(nearest.as_object(), "ppm"));
    print_row("registered", "number {}", text_of(dataset, "number"));
}

void print_dataset_line(const json::object& dataset) {
    print_line("{}  {:>12} tokens  {} per million, quality {}  {}  {}", text_of(dataset, "root"),
               text_of(dataset, "tokens"), tokens_of(dataset.at("price_wei_per_mtoken")),
               share(dataset, "quality_ppm"), text_of(dataset, "licence"),
               text_of(dataset, "name"));
}

}  // namespace gym::app
