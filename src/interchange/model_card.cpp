#include "model_card.hpp"

#include <charconv>

#include "gym/common/printable.hpp"

namespace gym::interchange {
namespace {

/// A stranger's text as Markdown code, which nothing in it ends.
std::string quoted(const std::string& text) {
    std::string plain;
    for (const char c : without_controls(text))
        plain += c == '`' ? '\'' : c == '\n' || c == '\t' ? ' ' : c;
    return plain.empty() ? "(none)" : "`" + plain + "`";
}

std::string row(const std::string& label, const std::string& value) {
    return "| " + label + " | " + value + " |\n";
}

/// A cell of a table ends at a bar, in code too.
std::string cell(std::string text) {
    for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
        text.insert(at, "\\");
    return text;
}

std::string loss_text(double value) {
    char text[32];
    const auto end =
        std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, 4).ptr;
    return {text, end};
}

std::string front_matter(const FolderConfig& config) {
    std::string text = "---\ntags:\n- gym\n";
    if (config.is_known())
        text += "library_name: transformers\npipeline_tag: " + config.pipeline + "\n";
    return text + "---\n";
}

std::string origin_rows(const ModelCard& card) {
    if (!card.job) return row("trained", "locally, with `gym program run`");
    std::string text = row("job", "`" + card.job->hex() + "`");
    if (!card.round) return text;
    const std::string of = card.rounds ? " of " + std::to_string(*card.rounds) : "";
    return text + row("round", std::to_string(*card.round) + of +
                                   (*card.round == 0 ? ", before any training" : ""));
}

/// What nobody should miss who takes the weights for a trained model.
std::string untrained_note(const ModelCard& card) {
    if (!card.job || card.round != 0) return {};
    return "**Not trained by this job: these are the weights that it begins from. No round had "
           "changed "
           "them.**\n\n";
}

std::string data_section(const ModelCard& card) {
    if (card.datasets.empty()) return "The data that it was trained on is not known here.\n";
    std::string text = "| root | name | licence |\n|---|---|---|\n";
    for (const CardDataset& data : card.datasets)
        text += "| `" + data.root.hex() + "` | " + cell(quoted(data.name)) + " | " +
                (data.licence.empty() ? "not known" : cell(quoted(data.licence))) + " |\n";
    return text +
           "\nWhether the licence of the data binds those who use the weights is for them to "
           "judge.\n";
}

std::string loss_section(const ModelCard& card) {
    if (card.losses.empty()) return {};
    std::string text =
        "\n## Losses\nOn the validation part of the data, in nats per token.\n\n"
        "| after round | loss |\n|---|---|\n";
    for (const CardLoss& loss : card.losses)
        text += "| " + std::to_string(loss.round) + " | " + loss_text(loss.nats_per_token) + " |\n";
    return text;
}

std::string tokenizer_files(const ModelCard& card) {
    std::string text = "The tokenizer's files are in this folder.";
    for (const std::string& note : card.tokenizer_notes)
        text += " " + without_controls(note);
    return text + "\n";
}

std::string tokens_section(const ModelCard& card, const FolderConfig& config,
                           const CardFacts& facts) {
    switch (facts.tokens) {
        case CardFacts::Tokens::kFiles:
            return tokenizer_files(card);
        case CardFacts::Tokens::kBytes:
            return "A token is a byte: token n is the byte n of the UTF-8 text. tokenizer.json "
                   "says "
                   "the same to transformers.\n";
        case CardFacts::Tokens::kUnknown:
            break;
    }
    if (config.vocabulary == 0)
        return "Its input is a row of " + std::to_string(config.context) + " tokens.\n";
    if (card.byte_data)
        return "The tokens of its data are bytes: token n is the byte n of the UTF-8 text. The "
               "model knows the tokens 0 to " +
               std::to_string(config.vocabulary - 1) +
               ", of which it learned those below 256:\n```\ngym generate --model FOLDER --prompt "
               "TEXT --tokenizer bytes\n```\n";
    return "The tokenizer is not in this folder. The model knows the tokens 0 to " +
           std::to_string(config.vocabulary - 1) +
           ": use the tokenizer with which its data was made.\n";
}

std::string use_section(const ModelCard& card, const FolderConfig& config, const CardFacts& facts) {
    std::string text = "\n## Use\n";
    if (config.is_known())
        text += "```python\nfrom transformers import " + config.auto_class +
                "\nmodel = " + config.auto_class + ".from_pretrained(\"FOLDER\")\n```\n";
    else
        text +=
            "Transformers have no model of this form: the weights have the names of the "
            "program in `program.gym`, and `gym` runs it.\n";
    const bool continues =
        config.kind == FolderConfig::Kind::kContinues && (config.generates() || !config.is_known());
    if (continues && config.vocabulary != 0)
        text += "```\ngym generate --model FOLDER --prompt TEXT\n```\n";
    if (!continues)
        text += "It " +
                std::string(config.kind == FolderConfig::Kind::kClassifies
                                ? "tells the class of a row, and continues no text"
                                : "reads its whole window, and continues no text") +
                ". Its loss on the validation part of a dataset:\n```\n"
                "gym program evaluate --model FOLDER --data FILE\n```\n";
    return text + tokens_section(card, config, facts);
}

std::string check_section(const ModelCard& card, const CardFacts& facts) {
    std::string text =
        "\n## Verify\nThe model was trained with exact operations: whoever runs the same units "
        "again "
        "gets the same bits. Two roots name it.\n\n| what | root |\n|---|---|\n" +
        row("program", "`" + facts.program_root.hex() + "`") +
        row("parameters (base state)", "`" + facts.state_root.hex() + "`") + "\n";
    for (const std::string& check : card.checks)
        text += "- " + without_controls(check) + "\n";
    if (!card.checks.empty()) text += "\n";
    text +=
        "Every command that reads this folder computes both roots from the files and compares "
        "them with `gym.json`.\n";
    if (card.job && card.round)
        text += "To compare them with the chain again:\n```\ngym job export " + card.job->hex() +
                " --round " + std::to_string(*card.round) +
                " -o ANOTHER_FOLDER --chain URL --deployment deployment.json\n```\n";
    return text;
}

}  // namespace

std::string model_card(const ModelCard& card, const FolderConfig& config, const CardFacts& facts) {
    std::string text = front_matter(config);
    text += "# " + (card.name.empty() ? "A model trained with Gym" : quoted(card.name)) + "\n\n";
    text += untrained_note(card);
    text += "| | |\n|---|---|\n" + row("architecture", config.architecture);
    text += row("parameters", std::to_string(facts.parameters) + ", f32");
    text += origin_rows(card);
    text += "\n## Data\n" + data_section(card);
    text += loss_section(card);
    text += use_section(card, config, facts);
    return text + check_section(card, facts);
}

}  // namespace gym::interchange
