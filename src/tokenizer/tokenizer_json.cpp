#include "tokenizer_json.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <exception>
#include <stdexcept>
#include <utility>

#include "bounded_json.hpp"
#include "byte_alphabet.hpp"
#include "gym/common/json_fields.hpp"
#include "gym/tokenizer/tokenizer.hpp"
#include "patterns.hpp"

namespace gym::tokenizer {
namespace {

namespace json = boost::json;
using json_fields::flag_of;
using json_fields::number_of;
using json_fields::view_of;

/// A component of another kind of tokenizer.
struct Unsupported : std::runtime_error {
    using std::runtime_error::runtime_error;
};

[[noreturn]] void refuse(const std::string& where, std::string_view what) {
    throw Unsupported(
        where + " is " + std::string(what) +
        ", which is not supported: Gym reads byte-level BPE (as of GPT-2, Llama 3, Qwen). For a "
        "SentencePiece model, pass its .model file with --sentencepiece");
}

const json::object* object_at(const json::object& parent, std::string_view key) {
    const json::value* const value = parent.if_contains(key);
    if (value == nullptr || value->is_null()) return nullptr;
    if (!value->is_object()) json_fields::detail::reject(key, "an object or null", value);
    return &value->get_object();
}
bool flag_or(const json::object& object, std::string_view key, bool fallback) {
    const json::value* const value = object.if_contains(key);
    return value == nullptr || value->is_null() ? fallback : flag_of(object, key);
}
std::string_view type_of(const json::object& object) {
    return view_of(object, "type");
}
/// Calls `visit` with the component, or with each that a Sequence lists in `member`.
template <class Visit>
void for_each_component(const json::object& component, std::string_view where,
                        std::string_view member, const Visit& visit) {
    if (type_of(component) != "Sequence") return visit(component, std::string(where));
    const json::value* const list = component.if_contains(member);
    if (list == nullptr || !list->is_array())
        json_fields::detail::reject(std::string(where) + "." + std::string(member), "a list", list);
    for (std::size_t i = 0; i < list->get_array().size(); ++i) {
        const std::string name =
            std::string(where) + "." + std::string(member) + "[" + std::to_string(i) + "]";
        if (!list->get_array()[i].is_object())
            json_fields::detail::reject(name, "an object", &list->get_array()[i]);
        visit(list->get_array()[i].get_object(), name);
    }
}

void read_normalizer(const json::object& root, Definition& out) {
    const json::object* const normalizer = object_at(root, "normalizer");
    if (normalizer == nullptr) return;
    for_each_component(*normalizer, "normalizer", "normalizers",
                       [&](const json::object& part, const std::string& where) {
                           if (type_of(part) != "NFC") refuse(where, type_of(part));
                           out.nfc = true;
                       });
}

/// The pattern's literal as a regular expression.
std::string quoted(std::string_view literal) {
    std::string out;
    for (const char c : literal) {
        if (std::string_view(R"(\^$.|?*+()[]{}-)").find(c) != std::string_view::npos) out += '\\';
        out += c;
    }
    return out;
}

Step split_step(const json::object& part, const std::string& where) {
    const std::string_view behavior = view_of(part, "behavior");
    const bool keeps_matches = behavior == "Removed" && flag_or(part, "invert", false);
    if (behavior != "Isolated" && !keeps_matches)
        refuse(where, "a Split with the behavior " + std::string(behavior));
    const json::object* const pattern = object_at(part, "pattern");
    if (pattern == nullptr) json_fields::detail::reject(where + ".pattern", "an object", nullptr);
    if (pattern->contains("String"))
        return {Step::Kind::kSplit, quoted(view_of(*pattern, "String"))};
    return {Step::Kind::kSplit, std::string(view_of(*pattern, "Regex"))};
}

void read_pre_tokenizer(const json::object& root, Definition& out) {
    const json::object* const pre_tokenizer = object_at(root, "pre_tokenizer");
    bool byte_level = false;
    const auto read = [&](const json::object& part, const std::string& where) {
        const std::string_view type = type_of(part);
        // What follows would see the alphabet of bytes instead of the text.
        if (byte_level) refuse(where, std::string(type) + " after ByteLevel");
        if (type == "Split") {
            out.steps.push_back(split_step(part, where));
        } else if (type == "Digits") {
            out.steps.push_back({Step::Kind::kSplit, flag_or(part, "individual_digits", false)
                                                         ? R"(\p{N})"
                                                         : R"(\p{N}+)"});
        } else if (type == "ByteLevel") {
            byte_level = true;
            if (flag_or(part, "add_prefix_space", true))
                out.steps.push_back({Step::Kind::kPrefixSpace, ""});
            if (flag_or(part, "use_regex", true))
                out.steps.push_back({Step::Kind::kSplit, std::string(kGpt2Pattern)});
        } else {
            refuse(where, type);
        }
    };
    if (pre_tokenizer != nullptr)
        for_each_component(*pre_tokenizer, "pre_tokenizer", "pretokenizers", read);
    if (!byte_level) refuse("pre_tokenizer", "without ByteLevel");
}

void check_decoder(const json::object& root) {
    const json::object* const decoder = object_at(root, "decoder");
    if (decoder == nullptr) return;
    for_each_component(*decoder, "decoder", "decoders",
                       [](const json::object& part, const std::string& where) {
                           if (type_of(part) != "ByteLevel") refuse(where, type_of(part));
                       });
}

/// Settings of BPE that no byte-level tokenizer needs.
void check_model(const json::object& model) {
    const json::value* const type = model.if_contains("type");
    if (type != nullptr && type_of(model) != "BPE") refuse("model", type_of(model));
    if (flag_or(model, "byte_fallback", false)) refuse("model", "BPE with byte_fallback");
    for (const char* const key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
        const json::value* const value = model.if_contains(key);
        if (value == nullptr || value->is_null()) continue;
        if (!view_of(model, key).empty()) refuse("model", std::string("BPE with ") + key);
    }
    const json::value* const dropout = model.if_contains("dropout");
    if (dropout != nullptr && !dropout->is_null() &&
        !(dropout->is_number() && dropout->to_number<double>() == 0))
        refuse("model", "BPE with dropout");
}

void read_added_tokens(const json::object& root, Definition& out) {
    if (!root.contains("added_tokens") || root.at("added_tokens").is_null()) return;
    out.added = json_fields::list_of(root, "added_tokens", [](const json::object& token) {
        return AddedToken{number_of<std::uint32_t>(token, "id"),
                          json_fields::text_of(token, "content"), flag_or(token, "special", false),
                          flag_or(token, "normalized", false)};
    });
    for (const json::value& token : root.at("added_tokens").get_array())
        for (const char* const key : {"single_word", "lstrip", "rstrip"})
            if (const json::object& object = token.get_object();
                !flag_or(object, "special", false) && flag_or(object, key, false))
                refuse("added token \"" + json_fields::text_of(object, "content") + "\"",
                       std::string("a word with ") + key);
}

using Ids = boost::unordered_flat_map<std::string_view, std::uint32_t>;

/// The ids of the vocabulary's texts, as they are in the file, and its tokens.
Ids read_vocabulary(const json::object& model, Definition& out) {
    const json::value& vocabulary = json_fields::member_of(model, "vocab");
    if (!vocabulary.is_object())
        json_fields::detail::reject("model.vocab", "an object of tokens and ids", &vocabulary);
    boost::unordered_flat_map<std::string_view, std::uint32_t> added;
    for (const AddedToken& token : out.added)
        added.emplace(token.text, token.id);
    Ids ids;
    ids.reserve(vocabulary.get_object().size());
    for (const auto& [key, value] : vocabulary.get_object()) {
        const std::string_view text(key.data(), key.size());
        json::error_code error;
        const auto id = value.is_number() ? value.to_number<std::uint32_t>(error) : UINT32_MAX;
        if (error || id >= kVocabularyMax)
            throw std::runtime_error(
                "the id of " + shown(text) + " is " + json_fields::detail::shown(value) +
                "; ids are whole numbers below " + std::to_string(kVocabularyMax));
        auto bytes = from_alphabet(text);
        const auto special = added.find(text);
        const bool is_added = special != added.end() && special->second == id;
        if (is_added && bytes != std::string(text)) continue;  // it is not in the alphabet
        if (!bytes)
            throw std::runtime_error("token " + std::to_string(id) + ", " + shown(text) +
                                     ", has a character outside the alphabet of ByteLevel");
        if (bytes->empty()) throw std::runtime_error("token " + std::to_string(id) + " is empty");
        if (id >= out.tokens.size()) out.tokens.resize(std::size_t{id} + 1);
        if (!out.tokens[id].empty())
            throw std::runtime_error("two tokens have the id " + std::to_string(id) + ": " +
                                     shown(out.tokens[id]) + " and " + shown(*bytes));
        out.tokens[id] = *std::move(bytes);
        ids.emplace(text, id);
    }
    return ids;
}

struct Rule {
    std::string_view left;
    std::string_view right;
};

/// "a b" or ["a", "b"].
Rule rule_of(const json::value& value, const std::string& where) {
    if (value.is_string()) {
        const std::string_view text(value.get_string().data(), value.get_string().size());
        const std::size_t space = text.find(' ');
        if (space != std::string_view::npos && text.find(' ', space + 1) == std::string_view::npos)
            return {text.substr(0, space), text.substr(space + 1)};
    } else if (value.is_array() && value.get_array().size() == 2 &&
               value.get_array()[0].is_string() && value.get_array()[1].is_string()) {
        const auto part = [&](std::size_t i) {
            const json::string& text = value.get_array()[i].get_string();
            return std::string_view(text.data(), text.size());
        };
        return {part(0), part(1)};
    }
    throw std::runtime_error(where + ": expected two tokens as \"a b\" or [\"a\", \"b\"], found " +
                             json_fields::detail::shown(value));
}

void read_merges(const json::object& model, const Ids& ids, Definition& out) {
    const json::value& merges = json_fields::member_of(model, "merges");
    if (!merges.is_array()) json_fields::detail::reject("model.merges", "a list", &merges);
    out.merges.reserve(std::min<std::size_t>(merges.get_array().size(), kMergesMax));
    for (std::size_t i = 0; i < merges.get_array().size(); ++i) {
        const auto where = [&] { return "model.merges[" + std::to_string(i) + "]"; };
        const Rule rule = rule_of(merges.get_array()[i], where());
        const auto id_of = [&](std::string_view text) {
            const auto found = ids.find(text);
            if (found == ids.end())
                throw std::runtime_error(where() + " names " + shown(text) +
                                         ", which is not in the vocabulary");
            return found->second;
        };
        const std::string joined = std::string(rule.left) + std::string(rule.right);
        out.merges.push_back({id_of(rule.left), id_of(rule.right), id_of(joined)});
    }
}

/// The special tokens stand in the vocabulary too: where ids are missing below them, the tokenizers
/// library would number them anew.
json::object vocabulary_json(const Definition& definition) {
    json::object out;
    out.reserve(definition.vocabulary());
    for (std::size_t id = 0; id < definition.tokens.size(); ++id)
        if (!definition.tokens[id].empty()) out.emplace(to_alphabet(definition.tokens[id]), id);
    for (const AddedToken& token : definition.added)
        if (from_alphabet(token.text) == token.text) out.emplace(token.text, token.id);
    return out;
}

json::object byte_level_json() {
    return {{"type", "ByteLevel"},
            {"add_prefix_space", false},
            {"trim_offsets", true},
            {"use_regex", false}};
}

json::object pre_tokenizer_json(const Definition& definition) {
    if (definition.steps.empty()) return byte_level_json();
    json::array parts;
    for (const Step& step : definition.steps) {
        GYM_ASSERT(step.kind == Step::Kind::kSplit, "only splits are written");
        parts.push_back(json::object{{"type", "Split"},
                                     {"pattern", {{"Regex", step.pattern}}},
                                     {"behavior", "Isolated"},
                                     {"invert", false}});
    }
    parts.push_back(byte_level_json());
    return {{"type", "Sequence"}, {"pretokenizers", std::move(parts)}};
}

json::array added_json(const Definition& definition) {
    json::array out;
    for (const AddedToken& token : definition.added)
        out.push_back(json::object{{"id", token.id},
                                   {"content", token.text},
                                   {"single_word", false},
                                   {"lstrip", false},
                                   {"rstrip", false},
                                   {"normalized", token.normalized},
                                   {"special", token.special}});
    return out;
}

}  // namespace

Result<Definition> read_tokenizer_json(std::string_view text) {
    try {
        Definition out;
        const BoundedJson file(text, "the file");
        const json::object& root = file.root();
        const json::object* const model = object_at(root, "model");
        if (model == nullptr) throw std::runtime_error("it has no \"model\"");
        check_model(*model);
        read_normalizer(root, out);
        read_pre_tokenizer(root, out);
        check_decoder(root);
        read_added_tokens(root, out);
        const Ids ids = read_vocabulary(*model, out);
        read_merges(*model, ids, out);
        out.whole_piece_first = flag_or(*model, "ignore_merges", false);
        out.end_of_text = usual_end_of_text(out.added);
        GYM_CHECK(complete(out));
        return out;
    } catch (const Unsupported& error) {
        return fail(ErrorCode::kInvalidArgument, error.what());
    } catch (const JsonTooLarge& error) {
        return fail(ErrorCode::kOutOfRange, error.what());
    } catch (const std::exception& error) {
        return fail(ErrorCode::kMalformed, error.what());
    }
}

std::string write_tokenizer_json(const Definition& definition) {
    json::array merges;
    merges.reserve(definition.merges.size());
    for (const Merge& merge : definition.merges)
        merges.push_back(json::string(to_alphabet(definition.tokens[merge.left]) + " " +
                                      to_alphabet(definition.tokens[merge.right])));
    json::object model{{"type", "BPE"},
                       {"dropout", nullptr},
                       {"unk_token", nullptr},
                       {"continuing_subword_prefix", nullptr},
                       {"end_of_word_suffix", nullptr},
                       {"fuse_unk", false},
                       {"byte_fallback", false},
                       {"ignore_merges", definition.whole_piece_first},
                       {"vocab", vocabulary_json(definition)},
                       {"merges", std::move(merges)}};
    json::object byte_level = byte_level_json();
    json::value normalizer;
    if (definition.nfc) normalizer = json::object{{"type", "NFC"}};
    return json::serialize(json::object{{"version", "1.0"},
                                        {"truncation", nullptr},
                                        {"padding", nullptr},
                                        {"added_tokens", added_json(definition)},
                                        {"normalizer", std::move(normalizer)},
                                        {"pre_tokenizer", pre_tokenizer_json(definition)},
                                        {"post_processor", nullptr},
                                        {"decoder", std::move(byte_level)},
                                        {"model", std::move(model)}});
}

Result<std::string> read_end_of_text(std::string_view tokenizer_config) {
    try {
        const BoundedJson config(tokenizer_config, "it");
        const json::value* const token = config.root().if_contains("eos_token");
        if (token == nullptr || token->is_null()) return std::string();
        if (token->is_object()) return json_fields::text_of(token->get_object(), "content");
        return json_fields::text_of(config.root(), "eos_token");
    } catch (const JsonTooLarge& error) {
        return fail(ErrorCode::kOutOfRange, error.what());
    } catch (const std::exception& error) {
        return fail(ErrorCode::kMalformed, error.what());
    }
}

Status check_names_no_code(std::string_view tokenizer_config) {
    try {
        const BoundedJson config(tokenizer_config, "it");
        if (config.root().if_contains("auto_map") == nullptr) return {};
    } catch (const JsonTooLarge& error) {
        return fail(ErrorCode::kOutOfRange, error.what());
    } catch (const std::exception& error) {
        return fail(ErrorCode::kMalformed, error.what());
    }
    return fail(ErrorCode::kPermissionDenied,
                "it names program code ('auto_map') that would run on the machines of all who take "
                "the model: remove that member");
}

std::string write_tokenizer_config(const Definition& definition) {
    json::object out{{"tokenizer_class", "PreTrainedTokenizerFast"},
                     {"clean_up_tokenization_spaces", false}};
    const auto text_of = [&](std::uint32_t id) -> json::value {
        const auto found = std::ranges::find(definition.added, id, &AddedToken::id);
        if (found == definition.added.end()) return nullptr;
        return json::string(found->text);
    };
    if (definition.end_of_text) out["eos_token"] = text_of(*definition.end_of_text);
    const auto begin = std::ranges::find(definition.added, "<|begin_of_text|>", &AddedToken::text);
    if (begin != definition.added.end()) out["bos_token"] = begin->text;
    return json::serialize(out);
}

}  // namespace gym::tokenizer
