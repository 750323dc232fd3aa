/**
 * Returns the name of a time zone in the spelling of the IANA database, where names are the same in any case; undefined
 * if this process knows no such zone. Aliases such as `Asia/Kolkata` stay what they are. Offsets such as `+02:00` are no
 * names.
 */
export function canonicalTimezone(name: string): string | undefined {
  if (!/^[A-Za-z]/.test(name)) return undefined;
  let known: string;
  try {
    known = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
  const folded = name.toLowerCase();
  if (known.toLowerCase() === folded) return known;
  // The zone has another name here, so that its spelling has to be derived from the way names are written.
  if (/^[a-z]{3}(?:\d[a-z]{3}|[+-]0)?$/.test(folded)) return name.toUpperCase();
  return folded.replace(/[a-z]+/g, (word) => SPELLINGS.get(word) ?? word.charAt(0).toUpperCase() + word.slice(1));
}

/** The words in names of zones that are not written with one initial capital letter. */
const SPELLINGS: ReadonlyMap<string, string> = new Map(
  [
    ...['ACT', 'CHAT', 'GB', 'GMT', 'IN', 'LHI', 'NSW', 'NZ', 'SU', 'UCT', 'US', 'UTC', 'au', 'es', 'of'],
    ...['BajaNorte', 'BajaSur', 'ComodRivadavia', 'DeNoronha', 'DumontDUrville', 'EasterIsland', 'McMurdo'],
  ].map((word) => [word.toLowerCase(), word]),
);
