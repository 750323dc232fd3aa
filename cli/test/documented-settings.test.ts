import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '@commonplace/acceptance/dist/src/system.js';
import { expect, test } from '@jest/globals';
import { allTables } from '../src/settings.js';
import { settingsPage } from '../src/settings-page.js';

/** Compares the settings that pages name with those of the code. */
const defaults = new Map(
  Object.values(allTables).flatMap((table) => Object.values(table).map((one) => [one.variable, one.fallback] as const)),
);

/** Variables that no service reads: those of guides and SDKs, of tests, and of Compose. */
const OTHERS = new Set(
  [
    ...['URL', 'KEY', 'API_KEY', 'TOOLS', 'WRITE_DOCS', 'MODEL_OPERATIONS', 'DST_FULL'],
    ...['REGISTRY', 'VERSION', 'BACKUPS'],
  ].map((name) => `COMMONPLACE_${name}`),
);
/** Streams of NATS. */
const STREAMS = new Set(['COMMONPLACE_INSTALLATION', 'COMMONPLACE_HOLDER']);

const pages = execFileSync('git', ['ls-files', '*.md', 'deploy', 'charts/commonplace/values*'], { cwd: ROOT })
  .toString()
  .trim()
  .split('\n')
  // What was changed, and why, may name former settings.
  .filter((file) => file !== 'CHANGELOG.md' && !file.startsWith('docs/decisions/'))
  .map((file) => [file, readFileSync(join(ROOT, file), 'utf8')] as const);

/** Returns whether a name is a setting. `COMMONPLACE_CHAT_` and `COMMONPLACE_CHAT…` stand for all that begin so. */
function isKnown(name: string): boolean {
  if (defaults.has(name) || OTHERS.has(name) || STREAMS.has(name) || name.startsWith('COMMONPLACE_TEST_')) return true;
  return /[_…]$/.test(name) && [...defaults.keys()].some((variable) => variable.startsWith(name.replace('…', '')));
}

const SETTINGS_PAGE = 'docs/settings.md';

test('the page of all settings is the one that the code makes', () => {
  // Cells are padded to the width of their column.
  const narrow = (text: string) => text.replace(/ +/g, ' ').replace(/-+/g, '-');
  const written = readFileSync(join(ROOT, SETTINGS_PAGE), 'utf8');
  expect(narrow(written)).toBe(narrow(settingsPage(allTables)));
});

test('every setting that a page names exists', () => {
  const unknown = pages.flatMap(([file, text]) =>
    [...new Set(text.match(/COMMONPLACE_[A-Z0-9_]+…?/g) ?? [])]
      .filter((name) => !isKnown(name))
      .map((name) => `${file}: ${name}`),
  );
  expect(unknown).toEqual([]);
});

test('every default in a table is that of the code', () => {
  const byHand = pages.filter(([file]) => file !== SETTINGS_PAGE);
  const rows = byHand.flatMap(([file, text]) => settingRows(text).map((row) => ({ file, ...row })));
  expect(rows.length).toBeGreaterThan(40);
  const wrong = rows.filter(({ variable, value }) => !isDefault(defaults.get(variable), value));
  expect(wrong).toEqual([]);
});

/** Returns the rows of tables that have one setting and a column `default`. */
function settingRows(text: string): { readonly variable: string; readonly value: string }[] {
  const cellsOf = (line: string) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
  return text.split(/\n(?!\|)/).flatMap((block) => {
    const [head = [], , ...rows] = block
      .split('\n')
      .filter((line) => line.startsWith('|'))
      .map(cellsOf);
    const column = head.indexOf('default');
    return rows.flatMap((cells) => {
      const names = cells.join(' ').match(/`COMMONPLACE_[A-Z0-9_]+`/g) ?? [];
      const [variable] = names;
      return column < 0 || variable === undefined || names.length > 1
        ? []
        : [{ variable: variable.slice(1, -1), value: cells[column] ?? '' }];
    });
  });
}

const UNITS: Readonly<Record<string, number>> = { KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };

/** Compares a default with what a page shows: `64`, `10,000`, `5 MiB` (also of a setting in KiB or MiB), `none`, `off`. */
function isDefault(fallback: unknown, shown: string): boolean {
  const [, digits, unit = ''] = /^([\d,.]+)(?: (\w+))?/.exec(shown) ?? [];
  if (digits !== undefined) {
    const amount = Number(digits.replaceAll(',', ''));
    return fallback === amount * (UNITS[unit] ?? 1) || fallback === amount;
  }
  const plain = shown.replaceAll('`', '');
  if (/^(none|off|)$/.test(plain)) return !fallback || (Array.isArray(fallback) && fallback.length === 0);
  return fallback === plain;
}
