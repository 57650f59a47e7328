#include "data/dataset_print.hpp"

#include "cli/rows.hpp"
#include "gym/common/ppm.hpp"
#include "gym/plan/units.hpp"

namespace gym::app {
namespace {

constexpr std::uint64_t kPpmPerPercent = 10'000;

/// Where the number comes from.
std::string usefulness_from(const registry::Dataset& dataset) {
    if (!dataset.measurement) return "the network's default";
    return "measured by evaluation " + dataset.measurement->evaluation.hex();
}

/// Of the mix's tokens, rounded down.
std::uint64_t share_ppm(const registry::DatasetPart& part, const registry::Dataset& mix) {
    const auto share = Amount(part.tokens).mul_div(Amount(kPpm), Amount(mix.tokens));
    return share.ok() ? share->to_u64().value_or(0) : 0;
}

}  // namespace

std::string percent(std::uint64_t ppm) {
    std::string fraction = std::to_string(kPpmPerPercent + ppm % kPpmPerPercent).substr(1);
    while (!fraction.empty() && fraction.back() == '0')
        fraction.pop_back();
    return std::to_string(ppm / kPpmPerPercent) + (fraction.empty() ? "" : "." + fraction) + " %";
}

void print_parts(const registry::Dataset& mix) {
    for (const registry::DatasetPart& part : mix.parts)
        print_row("", "{} of it is {} of {}: {} per million, quality {}, {}",
                  percent(share_ppm(part, mix)), part.name, part.owner.hex(),
                  plan::money_text(part.price_wei_per_mtoken), percent(part.quality_ppm),
                  part.licence);
}

void print_dataset(const registry::Dataset& dataset) {
    print_row("dataset root", "{}", dataset.root.hex());
    print_row("name", "{}", dataset.shown_name());
    for (std::size_t i = 1; i < dataset.names.size(); ++i)
        print_row("", "{}", dataset.names[i]);
    if (!dataset.names.empty()) print_row("label", "{}", dataset.name);
    print_row("owner", "{}", dataset.owner.hex());
    print_row("licence", "{}", dataset.licence);
    print_row("visibility", "{}", to_string(dataset.access.visibility));
    print_row("tokens", "{}, of a vocabulary of {}", dataset.tokens, dataset.vocabulary);
    if (dataset.tokenizer) print_row("tokenizer", "{}", dataset.tokenizer->hex());
    if (dataset.manifest) print_row("manifest", "{}", dataset.manifest->hex());
    print_row("price", "{} GYM per million tokens of text, times the quality",
              dataset.price_wei_per_mtoken.to_tokens());
    if (dataset.parts.empty()) {
        print_row("novelty", "{}", percent(dataset.novelty_ppm));
        print_row("usefulness", "{}, {}", percent(dataset.usefulness_ppm),
                  usefulness_from(dataset));
    }
    print_row("quality", "{}", percent(dataset.quality_ppm));
    if (!dataset.parts.empty()) {
        print_row("mix", "of {} datasets, whose owners are paid", dataset.parts.size());
        print_parts(dataset);
    }
    if (dataset.nearest)
        print_row("nearest", "{}: shares {} of the text", dataset.nearest->root.hex(),
                  percent(dataset.nearest->ppm));
    print_row("registered", "number {}", dataset.number);
}

void print_dataset_line(const registry::Dataset& dataset) {
    print_line("{}  {:>12} tokens  {} GYM per million, quality {}  {}  {}", dataset.root.hex(),
               dataset.tokens, dataset.price_wei_per_mtoken.to_tokens(),
               percent(dataset.quality_ppm), dataset.licence, dataset.shown_name());
}

}  // namespace gym::app
