"""Style of the report: light or dark by the user's setting, readable on a phone, usable by keyboard."""

from html import escape

# colors of the first twelve members; the next twelve are mixed with the text color
_BASE = (
    "#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#76b7b2", "#edc948",
    "#e15759", "#9c755f", "#86bcb6", "#d37295", "#a0cbe8", "#8cd17d",
)  # fmt: skip


def _mixed(number: int, colour: str) -> str:
    mixed = f"color-mix(in srgb,{colour} 45%,var(--fg))"
    return f".c{number}{{fill:{mixed};background:{mixed}}}\n"


CSS = (
    """
:root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--soft:#59636e;--line:#d5dae0;--card:#f6f8fa;--stable:#9ccfae;
--prepare:#d9480f;--complete:#f2b33d;--red:#c92a2a;--amber:#b35900;--blue:#2f6fb3;--none:#d0d4da;--focus:#0b57d0}
@media(prefers-color-scheme:dark){:root{--bg:#14171a;--fg:#e6e9ec;--soft:#9aa4af;--line:#343b43;--card:#1d2126;
--stable:#2f6b45;--prepare:#ff8a4c;--complete:#d99a2b;--red:#ff7b72;--amber:#f0a35e;--blue:#6cb0f5;--none:#3a4048;
--focus:#8ab4f8}}
*{box-sizing:border-box}body{margin:0 auto;max-width:72rem;padding:1rem;background:var(--bg);color:var(--fg);
font:16px/1.5 system-ui,sans-serif}h1{font-size:1.6rem}h2{font-size:1.25rem;margin-top:2rem}h3{font-size:1rem;margin:1.2rem 0 .3rem}
a{color:var(--blue)}:focus-visible{outline:3px solid var(--focus);outline-offset:2px}.soft,figcaption{color:var(--soft)}
.skip{position:absolute;left:-99rem}.skip:focus{left:1rem;background:var(--bg);padding:.5rem}
.head{padding-left:1.4rem}.head li{margin:.35rem 0}nav{display:flex;flex-wrap:wrap;gap:.2rem 1rem;margin:.8rem 0}.badge{display:inline-block;border-radius:.3rem;padding:0 .45rem;
font-size:.8rem;font-weight:600;border:1px solid currentColor;margin-right:.4rem;white-space:nowrap}
.critical{color:var(--red)}.warning{color:var(--amber)}.info{color:var(--soft)}
details{border:1px solid var(--line);border-radius:.5rem;margin:.6rem 0;background:var(--bg)}summary{cursor:pointer;padding:.6rem .8rem}
details>.in{padding:0 .8rem .8rem}.card{border:1px solid var(--line);border-left:4px solid var(--soft);background:var(--card);
border-radius:.4rem;padding:.5rem .8rem;margin:.5rem 0}.card.critical{border-left-color:var(--red);color:inherit}
.card.warning{border-left-color:var(--amber);color:inherit}.card.info{color:inherit}.card p{margin:.3rem 0}
dl.evidence{display:grid;grid-template-columns:max-content 1fr;gap:.1rem .8rem;font-size:.85rem;margin:.3rem 0}
dl.evidence dt{color:var(--soft)}dl.evidence dd{margin:0;overflow-wrap:anywhere}
.sure{color:var(--soft);font-size:.85em;white-space:nowrap}dl.figures{display:flex;flex-wrap:wrap;gap:.6rem 1.6rem;margin:1rem 0 .4rem}
dl.figures dt{color:var(--soft);font-size:.8rem}dl.figures dd{margin:0;font-size:1.05rem;font-weight:600}dl.figures .sure{font-weight:400}
figure{margin:0}caption{text-align:left;color:var(--soft);padding:.2rem .6rem}.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem;min-width:100%}th,td{text-align:left;
padding:.25rem .6rem;border-bottom:1px solid var(--line);vertical-align:top}th{color:var(--soft);font-weight:600}
tbody th{color:inherit}td.stayed{outline:1px solid var(--line);outline-offset:-3px;color:var(--soft)}
td.heat1{background:color-mix(in srgb,var(--prepare) 15%,transparent)}td.heat2{background:color-mix(in srgb,var(--prepare) 30%,transparent)}
td.heat3{background:color-mix(in srgb,var(--prepare) 45%,transparent)}td.heat4{background:color-mix(in srgb,var(--prepare) 60%,transparent)}
th.n,td.n{text-align:right;font-variant-numeric:tabular-nums}tr:target,.card:target{outline:2px solid var(--focus)}[id]{scroll-margin-top:4rem}
.chart{overflow-x:auto;margin:.2rem 0}.chart svg{min-width:44rem;width:100%;height:auto;display:block}
svg a:focus-visible{outline:none}svg a:focus-visible rect{stroke:var(--focus);stroke-width:3}svg a text{text-decoration:underline}
code{overflow-wrap:anywhere}svg text{font-size:11px;fill:var(--fg);unicode-bidi:isolate}td,th{unicode-bidi:isolate}svg .label,svg .tick{fill:var(--soft)}svg .on{fill:var(--fg);font-weight:600}
svg .grid{stroke:var(--line)}.stable{fill:var(--stable)}.empty{fill:none;stroke:var(--line)}.prepare{fill:var(--prepare)}
.bound{fill:var(--prepare);fill-opacity:.45}.complete{fill:var(--complete)}.lost{fill:var(--red)}.flow{fill:var(--blue)}.lag{fill:var(--amber)}
.members{fill:var(--stable)}.silence{fill:var(--red);fill-opacity:.22}.unowned{fill:var(--none);background:var(--none)}
.flag-critical{fill:var(--red)}.flag-warning{fill:var(--amber)}.waiting{fill:var(--fg);fill-opacity:.55}.laggard{fill:var(--red)}.end-left{fill:var(--fg)}.end-thrown{fill:var(--red)}.h0{fill:var(--card)}.h1{fill:#f9d9c9}.h2{fill:#f5b090}
.h3{fill:#ec8455}.h4{fill:#d9480f}.h5{fill:#8f2a04}.legend{display:flex;flex-wrap:wrap;gap:.2rem .9rem;font-size:.85rem;margin:.3rem 0}
.legend i{display:inline-block;width:.8rem;height:.8rem;border-radius:.15rem;margin-right:.3rem;vertical-align:-.1rem}
i.stable{background:var(--stable)}i.prepare{background:var(--prepare)}i.bound{background:color-mix(in srgb,var(--prepare) 45%,transparent)}
i.complete{background:var(--complete)}i.lost,i.laggard,i.end-thrown{background:var(--red)}i.silence{background:color-mix(in srgb,var(--red) 22%,transparent)}
i.waiting{background:color-mix(in srgb,var(--fg) 55%,transparent)}i.end-left{background:var(--fg)}
.c0{fill:#4e79a7;background:#4e79a7}.c1{fill:#f28e2b;background:#f28e2b}.c2{fill:#59a14f;background:#59a14f}
.c3{fill:#b07aa1;background:#b07aa1}.c4{fill:#76b7b2;background:#76b7b2}.c5{fill:#edc948;background:#edc948}
.c6{fill:#e15759;background:#e15759}.c7{fill:#9c755f;background:#9c755f}.c8{fill:#86bcb6;background:#86bcb6}
.c9{fill:#d37295;background:#d37295}.c10{fill:#a0cbe8;background:#a0cbe8}.c11{fill:#8cd17d;background:#8cd17d}
"""
    + "".join(_mixed(number, colour) for number, colour in enumerate(_BASE, 12))
    + """
@media(prefers-color-scheme:dark){.h1{fill:#4a2415}.h2{fill:#7a3312}.h3{fill:#b4480f}.h4{fill:#e8691f}.h5{fill:#ffb184}}
@media(max-width:40rem){body{padding:.6rem}dl.evidence{grid-template-columns:1fr}.chart svg{min-width:58rem}details>.in{padding:0 .5rem .5rem}}
@media print{details{break-inside:avoid}}
"""
)


def page_head(title: str) -> str:
    """Return the start of a page without scripts and network access, up to its body."""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<style>{CSS}</style></head>"
    )
