interface Prefix {
  readonly first: string;
  readonly rest: string;
  used: boolean;
}

/** Collects lines of Markdown and puts the markers of their containers before them. */
export function createLines() {
  const lines: string[] = [];
  const prefixes: Prefix[] = [];
  const prefix = (): string => {
    let text = '';
    for (const entry of prefixes) {
      text += entry.used ? entry.rest : entry.first;
      entry.used = true;
    }
    return text;
  };
  return {
    /** Writes one line; an empty one gets no trailing blank. */
    line(text: string): void {
      lines.push(text === '' ? prefix().trimEnd() : prefix() + text);
    },
    /** Writes a text of several lines. */
    text(text: string): void {
      for (const line of text.split('\n')) this.line(line);
    },
    /** Prefixes the first line that `inside` writes with `first`, and the others with `rest`. */
    within(first: string, rest: string, inside: () => void): void {
      prefixes.push({ first, rest, used: false });
      inside();
      prefixes.pop();
    },
    result: (): string => lines.join('\n'),
  };
}

export type Lines = ReturnType<typeof createLines>;
