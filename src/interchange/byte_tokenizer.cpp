#include "byte_tokenizer.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string>

#include "folder_config.hpp"

namespace gym::interchange {
namespace {

namespace json = boost::json;

constexpr std::uint32_t kBytes = 256;

/// The code points below 0x800 that stand for bytes: transformers' ByteLevel steps write a byte as
/// itself where Latin-1 prints it, and the others, in order, from U+0100 on.
bool is_printed(std::uint32_t byte) {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

std::string utf8(std::uint32_t code) {
    if (code < 0x80) return {static_cast<char>(code)};
    return {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
}

json::object byte_vocabulary() {
    json::object vocabulary;
    std::uint32_t next = kBytes;
    for (std::uint32_t byte = 0; byte < kBytes; ++byte)
        vocabulary[utf8(is_printed(byte) ? byte : next++)] = byte;
    return vocabulary;
}

NamedFile file_of(const char* name, const json::object& object) {
    const std::string text = json_lines(object);
    return {name, {text.begin(), text.end()}};
}

}  // namespace

std::vector<NamedFile> byte_tokenizer(std::uint32_t context) {
    const json::object byte_level{{"type", "ByteLevel"},
                                  {"add_prefix_space", false},
                                  {"trim_offsets", true},
                                  {"use_regex", false}};
    // Byte pairs without any merge: every byte stays a token of its own.
    const json::object pairs{{"type", "BPE"},
                             {"dropout", nullptr},
                             {"unk_token", nullptr},
                             {"continuing_subword_prefix", nullptr},
                             {"end_of_word_suffix", nullptr},
                             {"fuse_unk", false},
                             {"byte_fallback", false},
                             {"vocab", byte_vocabulary()},
                             {"merges", json::array()}};
    const json::object tokenizer{{"version", "1.0"},
                                 {"truncation", nullptr},
                                 {"padding", nullptr},
                                 {"added_tokens", json::array()},
                                 {"normalizer", nullptr},
                                 {"pre_tokenizer", byte_level},
                                 {"post_processor", nullptr},
                                 {"decoder", byte_level},
                                 {"model", pairs}};
    const json::object config{{"tokenizer_class", "PreTrainedTokenizerFast"},
                              {"model_max_length", context},
                              {"clean_up_tokenization_spaces", false}};
    return {file_of("tokenizer.json", tokenizer), file_of("tokenizer_config.json", config)};
}

}  // namespace gym::interchange
