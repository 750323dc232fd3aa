/** A command of a document, and what it is said to write. */
export interface Step {
  readonly command: string;
  readonly answer: string;
}

/** Reads the `sh` blocks of Markdown, which prepare, and the `console` blocks, whose commands stand behind `$ `. */
export function stepsOf(markdown: string): Step[] {
  return [...markdown.matchAll(/^```(sh|console)\n([\s\S]*?)^```$/gm)].flatMap(([, kind, text = '']) => {
    if (kind === 'sh') return [{ command: text, answer: '' }];
    return text
      .split(/^\$ /m)
      .slice(1)
      .map((step) => {
        const [command = '', ...answer] = step.trimEnd().split('\n');
        return { command, answer: answer.join('\n') };
      });
  });
}

/** Separates the outputs of steps that run in one shell. */
export const SEPARATOR = '\u001e';

/** Returns one script of all steps, whose outputs the separator divides. */
export function scriptOf(steps: readonly Step[]): string {
  return steps.map(({ command }) => `${command}\nprintf '${SEPARATOR}'`).join('\n');
}
