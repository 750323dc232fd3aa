/** Maximum number of single-character changes between a misspelling and the intended name. */
const MAX_CHANGES = 3;

/** Returns the known name that is most similar to a misspelt one; undefined if none is similar. */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  let nearest: string | undefined;
  let fewest = MAX_CHANGES + 1;
  for (const other of known) {
    const changes = Math.abs(other.length - name.length) >= fewest ? fewest : distance(name, other);
    if (changes < fewest) [nearest, fewest] = [other, changes];
  }
  return nearest;
}

/** Returns the environment variables that look like settings but are not, each with the most similar setting. */
export function unknownSettings(
  env: NodeJS.ProcessEnv,
  known: ReadonlySet<string>,
): { readonly name: string; readonly nearest: string | undefined }[] {
  return Object.keys(env)
    .filter((name) => name.startsWith('COMMONPLACE_') && !known.has(name) && !NOT_SETTINGS.test(name))
    .map((name) => ({ name, nearest: nearestName(name, known) }));
}

/** Variables of tests and tools, and those of clients that the guides and the SDKs' READMEs have people set. */
const NOT_SETTINGS = /^COMMONPLACE_((TEST|BENCH|TOOLS)|(URL|KEY|API_KEY)$)/;

/**
 * Returns the number of insertions, deletions, substitutions and swaps of neighbours that turn one text into another.
 */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let least = Math.min(
        (last[j] as number) + 1,
        (row[j - 1] as number) + 1,
        (last[j - 1] as number) + (same ? 0 : 1),
      );
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwap) least = Math.min(least, (before[j - 2] as number) + 1);
      row.push(least);
    }
    [before, last] = [last, row];
  }
  return last[b.length] as number;
}
