const MAX_USER_AGENT_LENGTH = 512;

const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdgA?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(Firefox|FxiOS)\//, 'Firefox'],
  [/\b(HeadlessChrome|Chrome|CriOS)\//, 'Chrome'],
  [/\bVersion\/.*\bSafari\//, 'Safari'],
];
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\b(iPhone|iPad)\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

/** Returns a device's name from its `User-Agent`, as "Firefox on Linux"; undefined if the header names none. */
export function deviceOf(userAgent: string): string | undefined {
  const text = userAgent.slice(0, MAX_USER_AGENT_LENGTH);
  const browser = nameIn(BROWSERS, text) ?? /^([A-Za-z][\w.-]{0,40})/.exec(text)?.[1];
  const system = nameIn(SYSTEMS, text);
  if (browser === undefined) return system;
  return system === undefined ? browser : `${browser} on ${system}`;
}

function nameIn(names: readonly (readonly [RegExp, string])[], text: string): string | undefined {
  return names.find(([pattern]) => pattern.test(text))?.[1];
}
