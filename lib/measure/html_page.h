// A report as one HTML file that needs nothing else: no network, no script.
//
// Readable on a phone and printed, light and dark (prefers-color-scheme), with headings, captions
// and texts for screen readers. All text is escaped here; names are shown as printable() shows
// them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/core/bytes.h"

namespace prep::measure {

class HtmlPage {
 public:
  HtmlPage(std::string title, std::string subtitle);

  void heading(std::string_view text);  // a section; also in the page's contents
  void paragraph(std::string_view text);
  // A short list of figures, large: {"samples", "12,345"}.
  struct Figure {
    std::string name, value, note;
  };
  void figures(const std::vector<Figure>& figures);
  // The first row names the columns; numbers are aligned to the right.
  struct Cell {
    std::string text;
    bool is_number = false;
    bool is_good = false, is_bad = false;
  };
  void table(std::string_view caption, const std::vector<std::string>& head,
             const std::vector<std::vector<Cell>>& rows);
  void code(std::string_view text);  // a command line, to copy
  void note(std::string_view text);  // something to look at: a warning
  // An inline SVG out of svg_chart.h, with a caption.
  void chart(std::string_view caption, std::string_view svg);
  // Pictures side by side, each with its caption; `jpeg_or_png` goes into the page.
  struct Picture {
    Bytes image;
    std::string caption, alt;
  };
  void contact_sheet(std::string_view caption, const std::vector<Picture>& pictures);

  std::string text() const;

 private:
  std::string title_, subtitle_, body_;
  std::vector<std::string> headings_;
};

}  // namespace prep::measure
