/**
 * Script that adds a passkey and signs in with one. The browser talks to the authenticator, and the server verifies.
 */
export const SCRIPT = `'use strict';
(() => {
  if (!window.PublicKeyCredential) return;
  const toBytes = (text) => Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (c) => c.charCodeAt(0));
  const toText = (bytes) =>
    btoa(String.fromCharCode(...new Uint8Array(bytes))).replace(/\\+/g, '-').replace(/\\//g, '_').replace(/=+$/, '');
  const withBytes = (list) => (list || []).map((one) => ({ ...one, id: toBytes(one.id) }));

  const send = async (path, body, csrf) => {
    const headers = { 'Content-Type': 'application/json', ...(csrf ? { 'X-CSRF-Token': csrf } : {}) };
    const answer = await fetch('/auth/passkeys/' + path, { method: 'POST', headers, body: JSON.stringify(body) });
    const content = await answer.json();
    if (answer.ok) return content.data;
    throw new Error(content.error.message);
  };
  const common = ({ id, rawId, type }) => ({ id, rawId: toText(rawId), type, clientExtensionResults: {} });

  const register = async ({ dataset: { csrf }, elements }) => {
    const { options } = await send('register/begin', {}, csrf);
    const publicKey = {
      ...options,
      challenge: toBytes(options.challenge),
      user: { ...options.user, id: toBytes(options.user.id) },
      excludeCredentials: withBytes(options.excludeCredentials),
    };
    const made = await navigator.credentials.create({ publicKey });
    const { clientDataJSON, attestationObject } = made.response;
    const response = {
      clientDataJSON: toText(clientDataJSON),
      attestationObject: toText(attestationObject),
      transports: made.response.getTransports ? made.response.getTransports() : [],
    };
    const name = elements.namedItem('name').value;
    await send('register', { name, credential: { ...common(made), response } }, csrf);
  };

  const signIn = async () => {
    const { options } = await send('sign-in/begin', {});
    const publicKey = {
      ...options,
      challenge: toBytes(options.challenge),
      allowCredentials: withBytes(options.allowCredentials),
    };
    const found = await navigator.credentials.get({ publicKey });
    const { clientDataJSON, authenticatorData, signature, userHandle } = found.response;
    const response = {
      clientDataJSON: toText(clientDataJSON),
      authenticatorData: toText(authenticatorData),
      signature: toText(signature),
      ...(userHandle ? { userHandle: toText(userHandle) } : {}),
    };
    await send('sign-in', { credential: { ...common(found), response } });
  };

  const textOf = (error) => {
    if (error.name === 'NotAllowedError') return 'No passkey was used: it was cancelled, or took too long.';
    if (error.name === 'InvalidStateError') return 'This device has a passkey of your account already.';
    return error.message;
  };
  for (const missing of document.querySelectorAll('[data-passkey-missing]')) missing.remove();
  for (const form of document.querySelectorAll('form[data-passkey]')) {
    const act = form.dataset.passkey === 'register' ? register : signIn;
    const fault = form.querySelector('.fault');
    const button = form.querySelector('button');
    form.hidden = false;
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      button.disabled = true;
      fault.hidden = true;
      try {
        await act(form);
        location.assign(form.dataset.next);
      } catch (error) {
        [fault.textContent, fault.hidden, button.disabled] = [textOf(error), false, false];
      }
    });
  }
})();
`;
