#include "data/dataset_print.hpp"

#include <boost/json/serialize.hpp>
#include <cstdio>

#include "job/job_print.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kPpmPerPercent = 10'000;

std::string text(const json::object& object, const char* key) {
    const json::value& value = object.at(key);
    return value.is_string() ? std::string(value.as_string()) : json::serialize(value);
}

std::string share(const json::object& object, const char* key) {
    return percent(object.at(key).to_number<std::uint64_t>());
}

/// Where the number comes from.
std::string usefulness_from(const json::value& measurement) {
    if (!measurement.is_object()) return "the network's default";
    return "measured by evaluation " + text(measurement.get_object(), "evaluation");
}

}  // namespace

std::string percent(std::uint64_t ppm) {
    std::string fraction = std::to_string(kPpmPerPercent + ppm % kPpmPerPercent).substr(1);
    while (!fraction.empty() && fraction.back() == '0')
        fraction.pop_back();
    return std::to_string(ppm / kPpmPerPercent) + (fraction.empty() ? "" : "." + fraction) + " %";
}

void print_dataset(const json::object& dataset) {
    std::printf("dataset root       %s\n", text(dataset, "root").c_str());
    std::printf("name               %s\n", text(dataset, "name").c_str());
    std::printf("owner              %s\n", text(dataset, "owner").c_str());
    std::printf("licence            %s\n", text(dataset, "licence").c_str());
    std::printf("tokens             %s, of a vocabulary of %s\n", text(dataset, "tokens").c_str(),
                text(dataset, "vocabulary").c_str());
    std::printf("price              %s tokens per million tokens of text, times the quality\n",
                tokens_of(dataset.at("price_wei_per_mtoken")).c_str());
    std::printf("novelty            %s\n", share(dataset, "novelty_ppm").c_str());
    std::printf("usefulness         %s, %s\n", share(dataset, "usefulness_ppm").c_str(),
                usefulness_from(dataset.at("measurement")).c_str());
    std::printf("quality            %s\n", share(dataset, "quality_ppm").c_str());
    if (const json::value& nearest = dataset.at("nearest"); nearest.is_object())
        std::printf("nearest            %s: %s of the text are like it\n",
                    text(nearest.as_object(), "root").c_str(),
                    share(nearest.as_object(), "ppm").c_str());
    std::printf("registered         number %s\n", text(dataset, "number").c_str());
}

void print_dataset_line(const json::object& dataset) {
    std::printf("%s  %12s tokens  %s per million, quality %s  %s  %s\n",
                text(dataset, "root").c_str(), text(dataset, "tokens").c_str(),
                tokens_of(dataset.at("price_wei_per_mtoken")).c_str(),
                share(dataset, "quality_ppm").c_str(), text(dataset, "licence").c_str(),
                text(dataset, "name").c_str());
}

}  // namespace gym::app
