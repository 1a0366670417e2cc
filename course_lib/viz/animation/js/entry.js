// The module's one export; a picture's kind says who draws it.

function render({ model, el }) {
  return KINDS[model.get("kind")]({ model, el });
}

export default { render };
