/** A command in a document, and the output that the document shows for it. */
interface Step {
  readonly command: string;
  readonly answer: string;
}

/**
 * Parses the code blocks of Markdown: `sh` blocks prepare, and `console` blocks contain commands after `$ ` with their
 * outputs.
 */
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

/** Returns one script for all steps. It prints the separator after each output. */
export function scriptOf(steps: readonly Step[]): string {
  return steps.map(({ command }) => `${command}\nprintf '${SEPARATOR}'`).join('\n');
}
