import { ERROR_CODES, ERROR_TYPES, type ErrorStatus } from '../openapi/error-codes.js';
import { escapeHtml } from './html.js';
import { sitePage } from './site.js';

/** The page that `doc_url` of an error points into: every code under its own name. */
export function errorCatalogue(): string {
  const sections = Object.entries(ERROR_CODES).map(
    ([status, codes]) =>
      `<h2 id="${ERROR_TYPES[Number(status) as ErrorStatus]}-${status}">${status} ${ERROR_TYPES[Number(status) as ErrorStatus]}</h2>
<dl>
${Object.entries(codes).map(entry).join('\n')}
</dl>`,
  );
  return sitePage({
    title: 'Errors',
    path: '/docs/errors',
    body: `<h1>Errors</h1>\n<p>What <code>error.code</code> of an answer means.</p>\n${sections.join('\n')}`,
  });
}

function entry([code, meaning]: [string, string]): string {
  const text = escapeHtml(meaning).replace(/`([^`]+)`/g, '<code>$1</code>');
  return `<dt id="${code}"><code>${code}</code></dt>\n<dd>${text}</dd>`;
}
