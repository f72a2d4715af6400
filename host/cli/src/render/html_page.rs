//! The frame of a report's page: one self-contained HTML file, without scripts and external resources, readable in light and
//! dark and on paper. Each report has its own content.

use maud::{DOCTYPE, Markup, PreEscaped, html};

/// The colours, by their meaning. A page has them, and so has a standalone drawing.
pub(crate) const COLOURS: &str = "\
:root{color-scheme:light dark;--back:#fff;--text:#1f2328;--muted:#59636e;--line:#d1d9e0;--faint:#f6f8fa;\
--mark:#0969da;--band:#b6d7fb;--good:#1a7f37;--warn:#9a6700;--bad:#cf222e}\
@media(prefers-color-scheme:dark){:root{--back:#0d1117;--text:#e6edf3;--muted:#9198a1;--line:#3d444d;--faint:#161b22;\
--mark:#4493f8;--band:#1f3f66;--good:#3fb950;--warn:#d29922;--bad:#f85149}}";

/// How drawings look; their shapes name a meaning, never a colour.
pub(crate) const DRAWINGS: &str = "\
svg text{font:13px system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;fill:var(--text);font-variant-numeric:tabular-nums}\
svg .small{font-size:12px;fill:var(--muted)}svg .strong{font-weight:600}svg .large{font-size:17px;font-weight:600}\
svg .axis{stroke:var(--line);stroke-width:1;fill:none}svg .zero{stroke:var(--text);stroke-width:1;fill:none}\
svg .expected{stroke:var(--text);stroke-width:2;stroke-dasharray:4 3;fill:none}\
svg .band{fill:var(--band)}svg .curve{stroke:var(--mark);stroke-width:2;fill:none}\
svg .bar{stroke:var(--mark);stroke-width:2}svg .dot,svg .full{fill:var(--mark)}svg .rest{fill:var(--line)}\
svg .lost{fill:var(--bad)}svg .good{stroke:var(--good);fill:var(--good)}svg .bad{stroke:var(--bad);fill:var(--bad)}\
svg .back{fill:var(--back)}svg text.good,svg text.bad{stroke:none}";

const PAGE: &str = "\
*{box-sizing:border-box}body{margin:0;background:var(--back);color:var(--text);\
font:16px/1.5 system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif}\
main{max-width:60rem;margin:0 auto;padding:2rem 1rem 4rem}h1{font-size:1.6rem;margin:0 0 .25rem;line-height:1.25}\
h2{font-size:1.15rem;margin:2.25rem 0 .5rem}p{margin:.4rem 0}.muted{color:var(--muted)}\
.verdict{border:1px solid var(--line);border-left:.4rem solid var(--mark);border-radius:.4rem;padding:.8rem 1rem;\
margin:1rem 0;background:var(--faint)}.verdict.good{border-left-color:var(--good)}.verdict.bad{border-left-color:var(--bad)}\
.verdict.warn{border-left-color:var(--warn)}.verdict .result{font-size:1.15rem;font-weight:600}\
.word{display:inline-block;font-weight:600;border:1px solid currentColor;border-radius:.3rem;padding:0 .45rem;white-space:nowrap}.word.long{white-space:normal}\
.word.good{color:var(--good)}.word.warn{color:var(--warn)}.word.bad{color:var(--bad)}\
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.9rem;font-variant-numeric:tabular-nums}\
th,td{text-align:left;padding:.35rem .6rem;border-bottom:1px solid var(--line);vertical-align:top}\
th{font-weight:600;color:var(--muted)}td.n,th.n{text-align:right;white-space:nowrap}td.w{white-space:nowrap}code{font-size:.85em;overflow-wrap:anywhere}\
figure{margin:.75rem 0}figcaption{font-size:.85rem;color:var(--muted)}svg{display:block;max-width:100%;height:auto}\
@media print{main{max-width:none;padding:0}h2{break-after:avoid}figure,table,.verdict{break-inside:avoid}}";

/// A whole page. Everything that is not markup already is escaped.
pub(crate) fn page(title: &str, body: Markup) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                // Nothing is loaded and nothing runs, even with hostile names in the report.
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                title { (clean(title)) }
                style { (PreEscaped(COLOURS)) (PreEscaped(DRAWINGS)) (PreEscaped(PAGE)) }
            }
            body { main { (body) } }
        }
    }
    .into_string()
        + "\n"
}

/// A text without characters that neither HTML nor XML may have. Escaping is the template's.
pub(crate) fn clean(text: &str) -> String {
    let is_bad = |c: char| (c.is_control() && c != '\n' && c != '\t') || matches!(c, '\u{FFFE}' | '\u{FFFF}');
    text.chars().map(|c| if is_bad(c) { '\u{FFFD}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_one_file_and_runs_nothing() {
        let text = page("a <b> & \"c\" \u{1b}", html! { p { "<script>alert(1)</script>" } });
        assert!(text.starts_with("<!DOCTYPE html>"), "{text}");
        assert!(text.contains("<title>a &lt;b&gt; &amp; &quot;c&quot; \u{FFFD}</title>"), "{text}");
        for never in ["<script", "http://", "https://", "url(", "@import", "src="] {
            assert!(!text.contains(never), "{never}");
        }
        assert!(text.contains("prefers-color-scheme:dark") && text.contains("@media print"));
    }
}
