// node draw.mjs DATA.json OUT_DIRECTORY [DASHBOARD [ROW]]: pictures of dashboards, light and dark; see README.md.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const WIDTH = 1280;
const CELL_PX = 38;
const HERE = fileURLToPath(new URL('.', import.meta.url));

const [dataFile, out, only, row] = process.argv.slice(2);
if (!out) {
  console.error('usage: node draw.mjs DATA.json OUT_DIRECTORY [DASHBOARD [ROW]]');
  process.exit(2);
}
const { fault, ...data } = JSON.parse(readFileSync(dataFile, 'utf8'));
const work = mkdtempSync(join(tmpdir(), 'panels-'));
mkdirSync(out, { recursive: true });

await build({
  entryPoints: [join(HERE, 'page.jsx')],
  bundle: true,
  outdir: work,
  jsx: 'automatic',
  format: 'iife',
  define: { 'process.env.NODE_ENV': '"production"', global: 'window' },
  loader: { '.svg': 'dataurl', '.woff': 'dataurl', '.woff2': 'dataurl', '.ttf': 'dataurl', '.png': 'dataurl' },
  logLevel: 'error',
});

function heightOf(panels) {
  const first = row ? panels.findIndex((panel) => panel.type === 'row' && panel.title === row) : 0;
  if (first < 0) {
    throw new Error(`there is no row ${row}`);
  }
  const next = row ? panels.findIndex((panel, number) => panel.type === 'row' && number > first) : -1;
  const shown = panels.slice(first, next < 0 ? undefined : next);
  const ends = shown.map(({ gridPos }) => gridPos.y + gridPos.h);
  return (Math.max(...ends) - shown[0].gridPos.y) * CELL_PX + 8;
}

try {
  for (const name of only ? [only] : Object.keys(data)) {
    const dashboard = JSON.parse(readFileSync(join(HERE, '..', 'dashboards', `${name}.json`), 'utf8'));
    for (const mode of ['light', 'dark']) {
      const drawn = { dashboard, data: data[name], fault, mode, row, width: WIDTH };
      const page = join(work, `${name}-${mode}.html`);
      const script = JSON.stringify(drawn).replaceAll('<', '\\u003c');
      writeFileSync(
        page,
        `<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="page.css"><body style="margin:0">` +
          `<div id="page"></div><script>window.DRAWN=${script}</script><script src="page.js"></script>`
      );
      const of = [name, ...(row ? [row.toLowerCase().replaceAll(/\W+/g, ' ').trim().replaceAll(' ', '-')] : []), mode];
      const picture = resolve(out, `${of.join('-')}.png`);
      execFileSync('chromium', [
        '--headless',
        '--no-sandbox',
        '--disable-gpu',
        '--hide-scrollbars',
        '--virtual-time-budget=10000',
        `--user-data-dir=${join(work, 'chromium')}`,
        `--window-size=${WIDTH},${heightOf(dashboard.panels)}`,
        `--screenshot=${picture}`,
        `file://${page}`,
      ], { stdio: 'ignore' });
      console.log(picture);
    }
  }
} finally {
  rmSync(work, { recursive: true, force: true });
}
