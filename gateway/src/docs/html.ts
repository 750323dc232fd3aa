export interface PageParts {
  readonly title: string;
  readonly styles: readonly string[];
  readonly scripts?: readonly string[];
  readonly icon?: string;
  /** Attributes of the body. */
  readonly attributes?: Readonly<Record<string, string>>;
  /** Markup, escaped by its writer. */
  readonly body: string;
}

/** A whole HTML page without anything inline. */
export function page({ title, styles, scripts = [], icon, attributes = {}, body }: PageParts): string {
  const links = styles.map((path) => `<link rel="stylesheet" href="${escapeHtml(path)}">`);
  if (icon !== undefined) links.push(`<link rel="icon" href="${escapeHtml(icon)}">`);
  const tags = scripts.map((path) => `<script src="${escapeHtml(path)}"></script>`);
  const facts = Object.entries(attributes).map(([name, value]) => ` ${name}="${escapeHtml(value)}"`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
${links.join('\n')}
</head>
<body${facts.join('')}>
${[body, ...tags].join('\n')}
</body>
</html>
`;
}

/** Text as it may stand in markup and in attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
