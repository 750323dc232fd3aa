import { sitePage } from '../page/site.js';

/** Paths of the parts of this server. Programs that request `/` get them as JSON. */
export const HOME_LINKS = {
  docs: '/docs',
  openapi: '/api/v1/openapi.json',
  sign_in: '/auth/sign-in',
  health: '/health/ready',
} as const;

/** Renders the page at `/`, which explains what this server is and links to its parts. */
export function homePage(): string {
  return sitePage({
    title: 'Welcome',
    path: '/',
    children: (
      <>
        <h1>Commonplace</h1>
        <p>
          This server keeps workspaces of documents, tables, files and folders, to share and to search, behind one HTTP
          API.
        </p>
        <ul>
          <li>
            <a href={HOME_LINKS.sign_in}>Sign in</a> to see your account and to make API keys.
          </li>
          <li>
            <a href={HOME_LINKS.docs}>Read the documentation</a>: an introduction, guides, and every endpoint to try.
          </li>
          <li>
            <a href={HOME_LINKS.openapi}>Get the OpenAPI document</a> for programs.
          </li>
          <li>
            <a href={HOME_LINKS.health}>See the health</a> of this server.
          </li>
        </ul>
      </>
    ),
  });
}
