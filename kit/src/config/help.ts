import type { Setting, Table } from './index.js';

const WIDTH = 80;
const INDENT = 4;
const COLUMN = 32;

/** Exit codes of a process that cannot start. */
const EXITS = 'Exit codes: 64 usage, 69 address or Node.js, 73 folder, 77 port, 78 settings.';

/** Returns what `--help` prints: the settings that most people need on two screens, or all settings if `all` is set. */
export function helpText(tables: readonly Table[], all: boolean): string {
  const settings = settingsOf(tables);
  const shown = all ? settings : settings.filter(({ common }) => common);
  const lines = shown.flatMap(all ? fullLines : shortLines);
  const more = all
    ? []
    : ['', `These are ${shown.length} of ${settings.length} settings; --help --all has the others.`];
  return ['Settings, by environment variables; defaults are in brackets.', '', ...lines, ...more, EXITS].join('\n');
}

/** Returns each setting once, even if several services read it. */
function settingsOf(tables: readonly Table[]): Setting<unknown>[] {
  const byName = new Map<string, Setting<unknown>>();
  for (const setting of tables.flatMap((table) => Object.values(table))) {
    const known = byName.get(setting.variable);
    if (known === undefined || known.common === undefined) byName.set(setting.variable, setting);
  }
  return [...byName.values()];
}

function fullLines(setting: Setting<unknown>): string[] {
  return [
    setting.variable,
    ...wrap(describe(setting, setting.help), WIDTH - INDENT).map((line) => ' '.repeat(INDENT) + line),
  ];
}

/** Returns the variable with its short description. */
function shortLines(setting: Setting<unknown>): string[] {
  const { common = '' } = setting;
  const words = wrap('fallback' in setting ? describe(setting, common) : common, WIDTH - COLUMN);
  return words.map((line, i) => (i === 0 ? setting.variable : '').padEnd(COLUMN) + line);
}

function describe(setting: Setting<unknown>, help: string): string {
  const value = shownDefault(setting);
  return value === '' ? help : `${help} [${value}]`;
}

/** Returns the default of a setting as people read it; empty if it has none. */
export function shownDefault({ secret, ...setting }: Setting<unknown>): string {
  if (!('fallback' in setting)) return 'required';
  if (setting.fallback === undefined) return '';
  return secret ? 'secret' : shownValue(setting.fallback);
}

function shownValue(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return value ? '1' : '0';
  if (Array.isArray(value)) return value.join(',') || 'none';
  if (value instanceof Map) return [...value].map(([name, one]) => `${name}=${one}`).join(',') || 'none';
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.entries(value)
    .map(([name, one]) => `${name}=${one}`)
    .join(', ');
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
