import { type Setting, shownDefault, type Table } from '@commonplace/kit/config';

const INTRODUCTION = `# Settings

All settings, which are environment variables, with their defaults and the services that read them. \`npm run generate:settings\` writes this page from the code;
\`npm start -- --help --all\` prints the same. [Operations](operations.md) explains the important ones, and the values of the chart that set them.
A process refuses to start with a value that it cannot read, and names all such settings at once.
`;
/** The table of the settings that every process reads. */
const EVERY = 'process';

/**
 * Returns `docs/settings.md` for the settings of all services: one table, by name. A setting that means different things to
 * different services has a line for each.
 */
export function settingsPage(tables: Readonly<Record<string, Table>>): string {
  const readers = new Map<string, { readonly setting: Setting<unknown>; readonly names: string[] }>();
  for (const [name, table] of Object.entries(tables)) {
    for (const setting of Object.values(table)) {
      const line = JSON.stringify([setting.variable, shownDefault(setting), setting.help]);
      const known = readers.get(line);
      if (known === undefined) readers.set(line, { setting, names: [name] });
      else known.names.push(name);
    }
  }
  const rows = [...readers.values()].map(({ setting, names }) => [
    code(setting.variable),
    code(shownDefault(setting)),
    setting.help.replace(VERBATIM, code),
    names.includes(EVERY) ? 'all' : names.join(', '),
  ]);
  const head = ['setting', 'default', 'meaning', 'read by'];
  const lines = [head, head.map(() => '---'), ...rows.sort(([a = ''], [b = '']) => (a < b ? -1 : 1))].map(
    (cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`,
  );
  return `${INTRODUCTION}\n${lines.join('\n')}\n`;
}

/** Examples within a text, which Markdown would read as links, HTML or emphasis. */
const VERBATIM = /'[^']+'|<[^>]+>[^\s;,]*|[^\s;,()]*(?:@|:\/\/|\*)[^\s;,()]+/g;

const code = (text: string): string => (text === '' ? '' : `\`${text}\``);
