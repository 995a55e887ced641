#include "lib/measure/html_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/core/text.h"
#include "lib/measure/markup.h"

namespace prep::measure {
namespace {

// Colours are named once, for light and for dark; charts use the same names.
constexpr std::string_view kStyle = R"(
:root{color-scheme:light dark;--paper:#fff;--ink:#1b1f24;--soft:#59636e;--line:#d1d9e0;
--panel:#f6f8fa;--good:#1a7f37;--bad:#b42318;--c0:#2f6fb7;--c1:#c2571a;--c2:#2c8a57;--c3:#8a4fbf;
--c4:#a0781a;--c5:#b8336a}
@media(prefers-color-scheme:dark){:root{--paper:#0f1318;--ink:#e6edf3;--soft:#9aa6b2;
--line:#2e3742;--panel:#181e26;--good:#4cc26a;--bad:#ff8278;--c0:#6ba8ee;--c1:#ef9a5b;
--c2:#5fc78b;--c3:#c193f0;--c4:#d9b24e;--c5:#ef7fae}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:64rem;padding:1.5rem 1rem 4rem;background:var(--paper);
color:var(--ink);font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.7rem;line-height:1.2;margin:0 0 .25rem}
h2{font-size:1.25rem;margin:2.5rem 0 .75rem;padding-top:.5rem;border-top:1px solid var(--line)}
.subtitle{color:var(--soft);margin:0 0 1.5rem;overflow-wrap:anywhere}
nav a{margin-right:1rem;color:var(--c0)}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(9rem,1fr));gap:.75rem;
margin:1rem 0;padding:0}
.figures div{background:var(--panel);border:1px solid var(--line);border-radius:.5rem;
padding:.75rem}
.figures dt{color:var(--soft);font-size:.85rem}
.figures dd{margin:0;font-size:1.4rem;font-weight:600;overflow-wrap:anywhere}
.figures dd small{display:block;font-size:.8rem;font-weight:400;color:var(--soft)}
.scroll{overflow-x:auto;margin:1rem 0}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--soft);padding-bottom:.4rem}
th,td{text-align:left;padding:.35rem .75rem .35rem 0;border-bottom:1px solid var(--line);
vertical-align:top}
th{font-weight:600}
.n{text-align:right;white-space:nowrap}
.good{color:var(--good);font-weight:600}
.bad{color:var(--bad);font-weight:600}
pre{background:var(--panel);border:1px solid var(--line);border-radius:.5rem;padding:.75rem;
overflow-x:auto}
.note{border-left:.25rem solid var(--c1);background:var(--panel);padding:.5rem .75rem}
figure{margin:1rem 0}
figcaption{color:var(--soft);margin-top:.35rem;font-size:.9rem;overflow-wrap:anywhere}
svg{width:100%;height:auto;display:block}
.sheet{display:grid;grid-template-columns:repeat(auto-fill,minmax(9rem,1fr));gap:.75rem}
.sheet figure{margin:0}
.sheet img{width:100%;height:9rem;object-fit:contain;background:var(--panel);
border:1px solid var(--line);border-radius:.25rem}
@media print{nav{display:none}body{max-width:none}}
)";

// Line breaks and tabs of ours stay; what is in names is shown as in C.
std::string shown(std::string_view text) { return escape_markup(is_utf8(text) ? text : printable(text)); }

std::string base64(ByteView bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t there = std::min<std::size_t>(3, bytes.size() - i);
    unsigned word = 0;
    for (std::size_t k = 0; k < 3; ++k) word = word << 8 | (k < there ? bytes[i + k] : 0u);
    for (std::size_t k = 0; k < 4; ++k) {
      out += k <= there ? kDigits[word >> (18 - 6 * k) & 63] : '=';
    }
  }
  return out;
}

std::string_view media_type(ByteView image) {
  return as_text(image).starts_with("\x89PNG") ? "image/png" : "image/jpeg";
}

}  // namespace

HtmlPage::HtmlPage(std::string title, std::string subtitle)
    : title_(std::move(title)), subtitle_(std::move(subtitle)) {}

void HtmlPage::heading(std::string_view text) {
  headings_.emplace_back(text);
  body_ += fmt::format("<h2 id=\"s{}\">{}</h2>\n", headings_.size(), shown(text));
}

void HtmlPage::paragraph(std::string_view text) { body_ += "<p>" + shown(text) + "</p>\n"; }

void HtmlPage::figures(const std::vector<Figure>& figures) {
  body_ += "<dl class=\"figures\">\n";
  for (const Figure& figure : figures) {
    body_ += fmt::format("<div><dt>{}</dt><dd>{}", shown(figure.name), shown(figure.value));
    if (!figure.note.empty()) body_ += "<small>" + shown(figure.note) + "</small>";
    body_ += "</dd></div>\n";
  }
  body_ += "</dl>\n";
}

void HtmlPage::table(std::string_view caption, const std::vector<std::string>& head,
                     const std::vector<std::vector<Cell>>& rows) {
  // A column of numbers has its heading above them.
  const auto is_number = [&](std::size_t column) {
    return !rows.empty() && column < rows[0].size() && rows[0][column].is_number;
  };
  body_ += "<div class=\"scroll\" tabindex=\"0\"><table><caption>" + shown(caption) +
           "</caption>\n<thead><tr>";
  for (std::size_t i = 0; i < head.size(); ++i) {
    body_ += fmt::format("<th scope=\"col\"{}>{}</th>", is_number(i) ? " class=\"n\"" : "",
                         shown(head[i]));
  }
  body_ += "</tr></thead>\n<tbody>\n";
  for (const std::vector<Cell>& row : rows) {
    body_ += "<tr>";
    for (const Cell& cell : row) {
      std::string names = cell.is_number ? "n" : "";
      if (cell.is_good) names += " good";
      if (cell.is_bad) names += " bad";
      body_ += names.empty() ? "<td>" : fmt::format("<td class=\"{}\">", names);
      body_ += shown(cell.text) + "</td>";
    }
    body_ += "</tr>\n";
  }
  body_ += "</tbody></table></div>\n";
}

void HtmlPage::code(std::string_view text) {
  body_ += "<pre tabindex=\"0\"><code>" + shown(text) + "</code></pre>\n";
}

void HtmlPage::note(std::string_view text) {
  body_ += "<p class=\"note\">" + shown(text) + "</p>\n";
}

void HtmlPage::chart(std::string_view caption, std::string_view svg) {
  body_ += "<figure>";
  body_ += svg;
  body_ += "<figcaption>" + shown(caption) + "</figcaption></figure>\n";
}

void HtmlPage::contact_sheet(std::string_view caption, const std::vector<Picture>& pictures) {
  body_ += "<p>" + shown(caption) + "</p>\n<div class=\"sheet\">\n";
  for (const Picture& picture : pictures) {
    body_ += fmt::format(
        "<figure><img loading=\"lazy\" alt=\"{}\" src=\"data:{};base64,{}\">"
        "<figcaption>{}</figcaption></figure>\n",
        shown(picture.alt), media_type(picture.image.view()), base64(picture.image.view()),
        shown(picture.caption));
  }
  body_ += "</div>\n";
}

std::string HtmlPage::text() const {
  std::string contents;
  for (std::size_t i = 0; i < headings_.size(); ++i) {
    contents += fmt::format("<a href=\"#s{}\">{}</a>\n", i + 1, shown(headings_[i]));
  }
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      // Nothing is fetched, whatever a name in here might look like.
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
      "style-src 'unsafe-inline'\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<header><h1>{}</h1>\n"
      "<p class=\"subtitle\">{}</p>\n{}</header>\n<main>\n{}</main>\n</body>\n</html>\n",
      shown(title_), kStyle, shown(title_), shown(subtitle_),
      headings_.size() > 1 ? "<nav aria-label=\"Contents\">\n" + contents + "</nav>\n" : "", body_);
}

}  // namespace prep::measure
