/** Writes a text as a Markdown code block whose fence cannot occur in the text. */
export function codeBlock(text: string, language = ''): string {
  const fence = '`'.repeat(Math.max(3, longestRunOfTicks(text) + 1));
  return `${fence}${language}\n${text}\n${fence}`;
}

/** Texts can have millions of runs, so the characters are counted instead of collecting the runs. */
function longestRunOfTicks(text: string): number {
  const TICK = 0x60;
  let longest = 0;
  for (let at = 0, run = 0; at < text.length; at++) {
    run = text.charCodeAt(at) === TICK ? run + 1 : 0;
    if (run > longest) longest = run;
  }
  return longest;
}
