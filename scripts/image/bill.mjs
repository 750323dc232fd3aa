// Creates the bill of materials (CycloneDX) of an image in npm's format.

/**
 * Returns npm's bill of the whole workspace, reduced to the installed packages. npm's own selection of production
 * packages (11.19) lacks those that a development dependency needs as well, such as grpc-js. Throws if a package is
 * missing from the bill.
 */
export function billOf(whole, service, installed) {
  const names = new Set(installed.map(({ name, version }) => `${name}@${version}`));
  const components = whole.components.filter((component) => names.has(component['bom-ref']));
  const refs = new Set(components.map((component) => component['bom-ref']));
  const missing = [...names].filter((name) => !refs.has(name));
  if (missing.length > 0) throw new Error(`npm's bill of materials lacks ${missing.join(', ')}`);
  const isMain = (component) => component['bom-ref'].startsWith(`@commonplace/${service}@`);
  return {
    ...whole,
    metadata: { ...whole.metadata, component: components.find(isMain) },
    components: components.filter((component) => !isMain(component)),
    dependencies: whole.dependencies
      .filter(({ ref }) => refs.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((name) => refs.has(name)) })),
  };
}
