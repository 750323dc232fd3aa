interface Prefix {
  readonly first: string;
  readonly rest: string;
  used: boolean;
}

/** Lines behind the markers of the containers that they stand in. */
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
    /** One line; an empty one ends with no blank. */
    line(text: string): void {
      lines.push(text === '' ? prefix().trimEnd() : prefix() + text);
    },
    /** Several lines as one text. */
    text(text: string): void {
      for (const line of text.split('\n')) this.line(line);
    },
    /** Writes what `inside` writes behind `first`, then `rest`. */
    within(first: string, rest: string, inside: () => void): void {
      prefixes.push({ first, rest, used: false });
      inside();
      prefixes.pop();
    },
    result: (): string => lines.join('\n'),
  };
}

export type Lines = ReturnType<typeof createLines>;
