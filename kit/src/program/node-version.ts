/** Oldest supported version of Node.js. */
const MIN_VERSION: readonly [major: number, minor: number] = [20, 19];
/** EX_UNAVAILABLE */
const EXIT_UNAVAILABLE = 69;

/** Returns one line that says why a version of Node.js is not supported; undefined for a supported version. */
export function nodeProblem(version: string): string | undefined {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
  const [minMajor, minMinor] = MIN_VERSION;
  if (major > minMajor || (major === minMajor && minor >= minMinor)) return undefined;
  return `Commonplace needs Node.js ${MIN_VERSION.join('.')} or newer; this is ${version}.`;
}

/** Ends the process with one line if its Node.js is too old. */
export function requireNode(version = process.version): void {
  const problem = nodeProblem(version);
  if (problem === undefined) return;
  console.error(problem);
  process.exit(EXIT_UNAVAILABLE);
}
