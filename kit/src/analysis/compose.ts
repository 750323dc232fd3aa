/** The first and the last kana that voiced sound marks follow, and the marks. */
const KANA = [0x3041, 0x30ff] as const;
const VOICED = 0x3099;
const SEMI_VOICED = 0x309a;
/** The half-width marks have the order of the others. */
const HALF_WIDTH_VOICED = 0xff9e;

/** Hangul syllables are arranged by arithmetic (The Unicode Standard, 3.12). */
const SYLLABLES = 0xac00;
const LEADS = 0x1100;
const LEAD_COUNT = 19;
const VOWELS = 0x1161;
const VOWEL_COUNT = 21;
/** One less than the first final: the first of 28 is none. */
const FINALS = 0x11a7;
const FINAL_COUNT = 28;

/**
 * Returns the folded character that a sound mark, or a vowel or final of Hangul, forms with the folded character before
 * it; 0 if they form none. Reads tables, as a text may have thousands of them, and normalizing each took 80 ms.
 */
export function compose(before: number, mark: number): number {
  return mark >= LEADS && mark <= FINALS + FINAL_COUNT ? composeHangul(before, mark) : composeKana(before, mark);
}

function composeHangul(before: number, mark: number): number {
  const lead = before - LEADS;
  const vowel = mark - VOWELS;
  if (lead >= 0 && lead < LEAD_COUNT && vowel >= 0 && vowel < VOWEL_COUNT) {
    return SYLLABLES + (lead * VOWEL_COUNT + vowel) * FINAL_COUNT;
  }
  const syllable = before - SYLLABLES;
  const final = mark - FINALS;
  const isOpen = syllable >= 0 && syllable < LEAD_COUNT * VOWEL_COUNT * FINAL_COUNT && syllable % FINAL_COUNT === 0;
  return isOpen && final > 0 && final < FINAL_COUNT ? before + final : 0;
}

let voiced: readonly Uint16Array[] | undefined;

function composeKana(before: number, mark: number): number {
  if (before < KANA[0] || before > KANA[1]) return 0;
  voiced ??= [VOICED, SEMI_VOICED].map(kanaWith);
  return voiced[mark >= HALF_WIDTH_VOICED ? mark - HALF_WIDTH_VOICED : mark - VOICED]?.[before - KANA[0]] ?? 0;
}

function kanaWith(mark: number): Uint16Array {
  return Uint16Array.from({ length: KANA[1] - KANA[0] + 1 }, (_, i) => {
    const composed = String.fromCharCode(KANA[0] + i, mark).normalize('NFC');
    return composed.length === 1 ? composed.charCodeAt(0) : 0;
  });
}
